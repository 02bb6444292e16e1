"""Whether a model's context has room for a workload's conversations, checked before the first request is run.

A turn's prompt is all turns before it, their replies and its own part, so it is at least the sum of the own parts: that much is known without
running anything. What fits by this may still be refused at a later turn, when its replies are known.
"""

from __future__ import annotations

from kvlab.errors import BadValue
from kvlab.lab.source import Source
from kvlab.workloads import Workload


def require_room_for_chats(source: Source, workload: Workload) -> None:
    """Check that every conversation fits; the error names the first turn that does not.

    Raises:
        BadValue: a turn's prompt is longer than the context, whatever its replies are.
    """
    context = source.shape.context
    if not context:
        return
    held: dict[str, int] = {}
    turns: dict[str, int] = {}
    for request in workload.requests:
        if not request.chat or request.action:
            continue
        before = max(0, held.get(request.chat, 0) - request.follow.drop_tail) if request.follow else 0
        held[request.chat] = before + len(source.encode(request))
        turns[request.chat] = turns.get(request.chat, 0) + 1
        if held[request.chat] > context:
            fits = turns[request.chat] - 1
            raise BadValue(
                what=f"turn {turns[request.chat]:,} of {workload.name} has a prompt of at least {held[request.chat]:,} tokens",
                why=f"{source.name} holds {context:,} tokens of context; nothing was run",
                hint=f"ask for fewer than {fits:,} turns, as replies take room too, or take a model with a longer context",
            )
