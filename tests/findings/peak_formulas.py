"""What a twin's highest level must be, by formulas of its own: a cold prompt, and a chain of edges that merges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kvlab.cache import capture_offsets
from kvlab.lab.peak_transients import capacity_after
from kvlab.layers import KV_KINDS
from kvlab.policy import Policy
from kvlab.shape import Shape


def merge_copies(edges: Sequence[int], bytes_per_token: int) -> int:
    """Return the bytes of the inputs that merging a chain of edges consumes, one after the other from its beginning.

    Edge lengths are in tokens. Every merge reads what was joined so far and the next edge, so the sum grows with the square of their number.
    Under `lifetimes=sweep` all of it is held until the next sweep; under `scopes` each input goes as it is consumed.
    """
    joined = itertools.accumulate(edges)
    return bytes_per_token * sum(list(joined)[1:])


def cold_request(shape: Shape, policy: Policy, tokens: int) -> int:
    """Return the bytes that all owners hold at the end of a cold prompt of `tokens` that asks for no reply.

    Its own full attention is still lazy; the live buffers, every capture's whole state and the one stored at close are held, and with
    `capture_as=view` the convolution's input of the forward that ended at each of them.
    """
    last = tokens - 1
    if last < 1:
        return shape.weights_bytes
    stored = {*(one for one in capture_offsets(tokens, policy) if one < last), last}
    live = sum(capacity_after(last, policy, group.growth_step) * group.bytes_per_token for group in shape.groups if group.kind in KV_KINDS)
    return shape.weights_bytes + live + shape.state_bytes * (1 + len(stored)) + _pinned(shape, policy, stored, last)


def _pinned(shape: Shape, policy: Policy, stored: set[int], last: int) -> int:
    if policy.capture_as != "view":
        return 0
    edges = sorted({0, *range(policy.prefill_chunk, last, policy.prefill_chunk), *stored})
    forwards = [end - start for start, end in itertools.pairwise(edges) if end in stored]
    # a forward of one token hands out a state of its own
    return sum(group.conv_bytes_per_token for group in shape.groups) * sum(one for one in forwards if one > 1)
