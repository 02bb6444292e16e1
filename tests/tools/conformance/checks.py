"""The checks of an architecture's caches; each runs forwards over the same few tokens.

Where the same tokens pass in the same pieces, equal means bit for bit; where the pieces differ, within `TOLERANCE`.
A check returns what the table says of it, or raises `Differs`.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
from mlx_lm.models.cache import can_trim_prompt_cache, trim_prompt_cache

from tests.tools.conformance import CHUNK, CUT, SHORT, TOLERANCE, TOTAL, snapshots
from tests.tools.conformance.subject import Differs, Subject, duplicate, largest, must_equal, share

Said = str | float


def forward(subject: Subject) -> Said:
    """Whether a forward of a prefix gives numbers, a row a token: the size of the largest logit. A logit of minus infinity rules a token out."""
    logits = subject.straight((), subject.prefix)
    if logits.shape[0] != len(subject.prefix):
        raise Differs(f"{len(subject.prefix)} tokens give {logits.shape[0]} rows of logits")
    if not mx.all(mx.isfinite(logits) | mx.isneginf(logits)).item():
        raise Differs("some logits are no numbers")
    return largest(logits)


def prefix(subject: Subject) -> Said:
    """Whether a prefix and then the rest give what all tokens at once give: the share by which they differ."""
    caches = subject.fresh()
    return _within(subject, mx.concatenate([subject.forward(caches, subject.prefix), subject.forward(caches, subject.rest)]))


def chunks(subject: Subject) -> Said:
    """The same for chunks of `CHUNK` tokens."""
    return _within(subject, subject.forward(subject.fresh(), subject.prefix + subject.rest, CHUNK))


def single(subject: Subject) -> Said:
    """The same for one token at a time."""
    return _within(subject, subject.forward(subject.fresh(), subject.prefix + subject.rest, 1))


def _within(subject: Subject, ours: mx.array) -> float:
    difference = share(ours, subject.straight((), subject.prefix + subject.rest))
    # written so that a difference that is no number fails too
    if not difference <= TOLERANCE:
        raise Differs(f"differs from all tokens at once by {difference:.0e} of the largest logit")
    return difference


def branch(subject: Subject) -> Said:
    """Whether a copy of the caches and the original continue apart, each as if alone."""
    caches = subject.after(subject.prefix)
    twin = duplicate(caches)
    must_equal(subject.forward(twin, subject.other_rest), subject.straight(subject.prefix, subject.other_rest), "the copy")
    must_equal(subject.forward(caches, subject.rest), subject.straight(subject.prefix, subject.rest), "the original")
    return "equal"


def rewind(subject: Subject) -> Said:
    """Whether trimmed caches continue as if what was trimmed had never been: after the prefix, or else while a window is not full."""
    for tokens, rest, word in ((subject.prefix, subject.rest, "equal"), (subject.prefix[:SHORT], subject.rest[:SHORT], "equal before the window is full")):
        caches = subject.after(tokens)
        subject.forward(caches, subject.other_rest[:SHORT])
        if can_trim_prompt_cache(caches):
            trim_prompt_cache(caches, SHORT)
            must_equal(subject.forward(caches, rest), subject.straight(tokens, rest), f"the continuation after trimming back to {len(tokens)}")
            return word
    return "not offered"


def snapshot(subject: Subject) -> Said:
    """Whether snapshots share no buffer with the live caches, and fresh caches restored from one continue as the original would, again and again."""
    for step, how in ((CHUNK, "a prefill"), (1, "single tokens")):
        caches = subject.after(subject.prefix, step)
        kept = snapshots.snapshot(caches, subject.shape, len(subject.prefix), CUT)
        if shared := snapshots.shared_bytes(caches, subject.shape, kept):
            raise Differs(f"a snapshot after {how} shares {shared} bytes with the live caches")
        for rest, rest_step in ((subject.other_rest, TOTAL), (subject.rest, 1), (subject.rest, TOTAL)):
            fresh = subject.fresh()
            snapshots.restore(fresh, subject.shape, kept)
            straight = subject.straight(subject.prefix, rest, step, rest_step)
            must_equal(subject.forward(fresh, rest, rest_step), straight, f"what follows a restore of a snapshot after {how}")
    return "equal"


def felt(subject: Subject) -> Said:
    """Whether every part matters: with one part taken from another prefix, the logits differ. Else equal logits would prove nothing of it."""
    caches, others = subject.after(subject.prefix), subject.after(subject.other_prefix)
    straight = subject.straight(subject.prefix, subject.rest)
    unfelt: list[str] = []
    for place, part in enumerate(snapshots.parts(caches)):
        mixed = duplicate(caches)
        vars(snapshots.parts(mixed)[place]).update(vars(snapshots.parts(duplicate(others))[place]))
        if snapshots.live_arrays([part]) and share(subject.forward(mixed, subject.rest), straight) <= TOLERANCE:
            unfelt.append(f"{place} ({snapshots.described(part)})")
    if unfelt:
        raise Differs(f"part {', '.join(unfelt)} does not reach the logits")
    return "every part"


CHECKS: dict[str, Callable[[Subject], Said]] = {check.__name__: check for check in (forward, prefix, chunks, single, branch, rewind, snapshot, felt)}
"""The checks by name, in order; when `forward` fails the others are not run."""
