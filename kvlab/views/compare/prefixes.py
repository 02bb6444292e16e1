"""Prefixes: what a node of a trie holds, as a key that is the same for the same tokens from the root to an offset, in either of two recordings.

Where both recordings stored their tokens a key is made of these. Where not, a key names requests: request 7 of A and of B have one
prompt when label and length agree (they do in two runs of one workload), and two requests of a run begin with the same tokens as far as one
was matched to, or cut, what the other left. Such a key may not know of a likeness that no match saw.

Invariant: equal keys mean equal tokens (what an image's tokens represent is not among them).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

from kvlab.recording import Recording
from kvlab.views.compare.runs import Run


class Prefixes:
    """Keys of what nodes hold, in two recordings.

    Attributes:
        runs: Both, A and B.
        by_tokens: Both stored their tokens, so keys are made of these.
    """

    def __init__(self, a: Recording, b: Recording) -> None:
        self.runs = Run(a), Run(b)
        self._classes: dict[int, dict[Hashable, Hashable]] = {}

    @cached_property
    def by_tokens(self) -> bool:
        """Whether both recordings stored the tokens of all their requests."""
        return all(run.requests and run.requests.keys() <= run.hashes.keys() for run in self.runs)

    def key(self, side: int, request: int, end: int) -> Hashable:
        """Return a key of the first `end` tokens of a request of A (0) or B (1)."""
        if self.by_tokens:
            hashes = self.runs[side].hashes[request]
            return hashes[end] if end < len(hashes) else ("unknown", side, request, end)
        return _found(self._alike_at(end), self._name(side, request))

    def _name(self, side: int, request: int) -> Hashable:
        """Return one name for a request that both recordings have, else one of its own side."""
        one, other = (run.requests.get(request, ("", -1)) for run in self.runs)
        # a label may be left out with the texts
        same = one[1] == other[1] and (one[0] == other[0] or not one[0] or not other[0])
        return request if same else (side, request)

    def _alike_at(self, end: int) -> dict[Hashable, Hashable]:
        if end not in self._classes:
            classes: dict[Hashable, Hashable] = {}
            for side, run in enumerate(self.runs):
                for reach, one, other in run.facts:
                    if reach >= end:
                        classes[_found(classes, self._name(side, one))] = _found(classes, self._name(side, other))
            self._classes[end] = classes
        return self._classes[end]


def _found(classes: dict[Hashable, Hashable], name: Hashable) -> Hashable:
    while (above := classes.get(name, name)) != name:
        classes[name] = classes.get(above, above)
        name = above
    return name
