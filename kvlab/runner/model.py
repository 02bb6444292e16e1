"""Model: the protocol of what the runner drives. Real models (MLX arrays) and the twin (span counts) implement it.

The runner never sees an array. Before every `prefill` and `decode` it announces to the layers which range is about to be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kvlab.allocator.meter import Meter
from kvlab.layers.storage import Store
from kvlab.shape import Shape
from kvlab.workloads.request import Request, Sampling, Segment


class Decoder(Protocol):
    """Turns one request's tokens into text as they come (a token may end in the middle of a character)."""

    def add(self, token: int) -> str:
        """Return the text that `token` completes; "" while it completes none."""
        ...

    def finish(self) -> str:
        """Return the text still held back."""
        ...


class Model(Protocol):
    """A model with its live buffers.

    Attributes:
        name: How the user called it.
        shape: Its layer kinds and prices.
        stop_tokens: Tokens that end a reply.
        stores: Its live buffers, one per group of `shape.groups`, in that order.
        meter: Reads the allocator.
        longest_run: Tokens of a reply that one `decode` gives at most: 1 where each follows from the one before.
        origin: Where it came from, for a recording's manifest: file, sha256, licence, dtype, device.
    """

    name: str
    shape: Shape
    stop_tokens: frozenset[int]
    longest_run: int
    origin: dict[str, str]

    @property
    def stores(self) -> Sequence[Store]:
        """Its live buffers."""
        ...

    @property
    def meter(self) -> Meter:
        """What reads the allocator."""
        ...

    def encode(self, request: Request) -> Sequence[int]:
        """Return the prompt's token ids: `request.tokens`, its plain prompt, or its messages through the chat template.

        Raises:
            BadValue: a message's role is unknown. An empty prompt gives no tokens; the runner refuses it.
        """
        ...

    def message_ends(self, request: Request, tokens: Sequence[int]) -> Sequence[int]:
        """Return the offsets in the prompt `tokens` at which chat messages end; () of a prompt without messages."""
        ...

    def segments(self, request: Request, tokens: Sequence[int]) -> Sequence[Segment]:
        """Return the segments of the prompt `tokens` that a store of whole entries may keep by themselves (`kvlab.workloads.segments`)."""
        ...

    def decoder(self) -> Decoder:
        """Return a new text decoder for one request."""
        ...

    def unload(self) -> None:
        """Free the weights.

        Raises:
            NotAvailable: they could not be loaded again.
        """
        ...

    def load(self) -> None:
        """Load the weights again after an unload; without one, nothing."""
        ...

    def begin(self, request: int, sampling: Sampling, replies: Sequence[int] | None) -> None:
        """Get ready for request number `request`: seed the sampler; `replies` are given tokens, emitted instead of sampled ones."""
        ...

    def prefill(self, tokens: Sequence[int]) -> None:
        """Evaluate `tokens` at the live offset and write them into the stores, draft layers apart. No logits."""
        ...

    def draft(self, tokens: int) -> None:
        """Write the next `tokens` slots of the draft layers, where the model has any."""
        ...

    def decode(self, token: int, tokens: int = 1) -> list[int]:
        """Evaluate `token` and those after it one by one at the live offset, write them into the stores, and return the next `tokens` tokens.

        `token` is the prompt's last one or the last one that was returned; `tokens` is from 1 to `longest_run`.
        """
        ...

    def end(self) -> None:
        """The reply is over: `decode` is not called again in this request."""
        ...
