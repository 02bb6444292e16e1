"""MLXModel: any mlx-lm net and tokenizer, answering the runner's Model protocol.

Invariants: the cache objects are mlx-lm's own and stay the same objects for the model's life; after every call the caches'
arrays are evaluated and, once the reply is over, no other array of the forward survives; a prefill never computes logits.
"""

# pyright: standard
from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue, NotAvailable
from kvlab.models.caches import made
from kvlab.models.mlx_meter import MLXMeter, weights_of
from kvlab.models.shape_of import shape_of
from kvlab.models.tokens import ROLES, message_ends
from kvlab.workloads.request import GREEDY
from kvlab.workloads.segments import chat_segments

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn

    from kvlab.layers.storage import Store
    from kvlab.models.tokens import Tokenizer
    from kvlab.runner.model import Decoder
    from kvlab.workloads.request import Request, Sampling, Segment


class MLXModel:
    """A real model with its live buffers.

    Args:
        name: How the user called it.
        net: Any mlx-lm net, its weights evaluated.
        tokenizer: Its tokenizer.
        context: Tokens the model can hold; 0 when unknown.
        origin: Where it came from: file, sha256, licence, dtype, device, package, version.
        caches: Makes its empty cache objects, one a layer (`kvlab.models.caches`); mlx-lm's own choice when None.
        again: Loads the same net again after an unload; None for a net that cannot be unloaded.

    Attributes:
        caches: mlx-lm's cache objects, one a layer: the live buffers.
        meter: Reads MLX's allocator.
        net, tokenizer, name, origin: As given.
        shape: Layer kinds and prices, traced from the caches.
        stop_tokens: Tokens that end a reply.
        stores: The live buffers as the layer rules see them, one per group of the shape.

    Raises:
        NotAvailable: a layer is of a kind that kvlab cannot restore yet.
    """

    longest_run = 1

    def __init__(
        self,
        name: str,
        net: nn.Module,
        tokenizer: Tokenizer,
        *,
        context: int = 0,
        origin: dict[str, str] | None = None,
        caches: Callable[[nn.Module], list[Any]] | None = None,
        again: Callable[[], nn.Module] | None = None,
    ) -> None:
        from kvlab.layers.mlx_store import parts, stores_for
        from kvlab.models.ahead import Ahead

        self.name = name
        self.net = net
        self.tokenizer = tokenizer
        self.origin: dict[str, str] = dict(origin or {})
        self.stop_tokens: frozenset[int] = tokenizer.stop_tokens
        self.caches: list[Any] = (caches or made)(net)
        self.shape = shape_of(net, self.caches, name, context)
        self.stores: Sequence[Store] = stores_for(self.caches, self.shape)
        self.meter = MLXMeter(weights_of(net))
        held = [cache for _, cache in parts(self.caches)]
        self._again = again
        self._loaded = True
        self._sample: Callable[[mx.array], mx.array] = sampler(GREEDY)
        self._replies: Iterator[int] = iter(())
        self._samples = True
        self._last = -1
        self._recurrent = [cache for cache in held if type(cache).__name__ == "ArraysCache"]
        self._ahead = Ahead(held)

    def encode(self, request: Request) -> list[int]:
        """Return the prompt's token ids: `request.tokens`, its plain prompt, or its messages through the chat template; [] of an empty prompt.

        Raises:
            BadValue: the prompt is given twice, a role is unknown, or a token id is outside the vocabulary.
        """
        given = [name for name in ("tokens", "prompt", "messages") if getattr(request, name)]
        if len(given) > 1:
            raise BadValue(
                what=f"a request gives {' and '.join(given)}",
                why="a request has exactly one of tokens, prompt and messages",
                hint="keep one of them",
            )
        tokens = self._encoded(request)
        self._check_tokens(tokens)
        return tokens

    def message_ends(self, request: Request, tokens: Sequence[int]) -> Sequence[int]:
        """Return the offsets in the prompt `tokens` at which chat messages end: the request's own, or by the chat template."""
        return request.ends or message_ends(self.tokenizer, request.messages, tokens)

    def segments(self, request: Request, tokens: Sequence[int]) -> Sequence[Segment]:
        """Return the segments of the prompt `tokens`: the request's own, or by the chat template."""
        if request.segments:
            return request.segments
        return chat_segments(request.messages, tokens, partial(self.tokenizer.chat, reply=False), self.tokenizer.thinking_start(tokens))

    def decoder(self) -> Decoder:
        """Return a new text decoder for one request."""
        return self.tokenizer.decoder()

    def begin(self, request: int, sampling: Sampling, replies: Sequence[int] | None) -> None:  # noqa: ARG002  the twin writes the request's number into its spans
        """Get ready for request number `request`: seed the sampler; `replies` are emitted instead of sampled tokens.

        Raises:
            BadValue: a figure of `sampling` is outside its range.
        """
        import mlx.core as mx

        self._sample = sampler(sampling)
        self._replies = iter(replies or ())
        self._samples = replies is None
        if sampling.seed is not None:
            mx.random.seed(sampling.seed)

    def unload(self) -> None:
        """Free the weights. `load` brings them back.

        Raises:
            NotAvailable: this net cannot be loaded again.
        """
        if self._again is None:
            raise NotAvailable(
                what=f"{self.name} cannot be unloaded",
                why="it was made from a net in this process, so its weights are not on disk",
                hint="open a model by its name or its folder, or run it on the twin",
            )
        self._ahead.forget()
        self.meter.watch(())
        self._loaded = False
        del self.net
        # modules refer to one another in circles
        gc.collect()

    def load(self) -> None:
        """Read the weights again after an unload; without one, nothing."""
        if not self._loaded and self._again is not None:
            self.net = self._again()
            self.meter.watch(weights_of(self.net))
            self._loaded = True

    def end(self) -> None:
        """The reply is over: drop the forward that was built for its next token."""
        self._ahead.forget()

    def prefill(self, tokens: Sequence[int]) -> None:
        """Evaluate `tokens` at the live offset and write them into the caches. No logits are computed."""
        import mlx.core as mx

        self._forward(tokens)
        mx.eval([cache.state for cache in self.caches])

    def draft(self, tokens: int) -> None:
        """Never called: mlx-lm loads no draft head."""
        raise NotImplementedError

    def decode(self, token: int, tokens: int = 1) -> list[int]:
        """Evaluate `token` at the live offset, write it into the caches, and return the next token, given or sampled; always one at a time."""
        import mlx.core as mx

        del tokens
        built = self._ahead.take() if token == self._last else None
        sampled = self._sample((self._forward((token,)) if built is None else built)[:, -1, :])
        # The logits do not need a recurrent layer's new state: unevaluated, it would keep every step's graph alive.
        due = (sampled, [cache.cache for cache in self._recurrent])
        mx.async_eval(*due)
        if self._samples:
            self._ahead.build(lambda: self.net(sampled[None], cache=self.caches))
        mx.eval(*due)
        chosen: Any = sampled.item()
        self._last = next(self._replies, int(chosen))
        return [self._last]

    def logits(self, tokens: Sequence[int]) -> mx.array:
        """Evaluate `tokens` at the live offset, write them into the caches, and return the last position's logits (vocabulary,).

        The array is evaluated and owns its buffer.
        """
        import mlx.core as mx

        last = mx.array(self._forward(tokens)[0, -1])
        mx.eval(last, [cache.state for cache in self.caches])
        return last

    def _forward(self, tokens: Sequence[int]) -> mx.array:
        """Return the logits (1, tokens, vocabulary), not evaluated."""
        import mlx.core as mx

        self._ahead.forget()
        return self.net(mx.array(list(tokens), dtype=mx.int32)[None], cache=self.caches)

    def _encoded(self, request: Request) -> list[int]:
        if request.tokens:
            return list(request.tokens)
        if request.prompt:
            return self.tokenizer.encode(request.prompt)
        for role, _ in request.messages:
            if role not in ROLES:
                raise BadValue(
                    what=f"a chat message cannot be from {role!r}",
                    why=f"the roles are {', '.join(ROLES)}",
                    hint="correct the role",
                )
        if not any(content.strip() for _, content in request.messages):
            return []
        return self.tokenizer.chat(request.messages)

    def _check_tokens(self, tokens: Sequence[int]) -> None:
        size = self.tokenizer.vocabulary
        outside = next((token for token in tokens if token < 0 or (size and token >= size)), None)
        if outside is not None:
            raise BadValue(
                what=f"{outside} is not a token of {self.name}",
                why=f"its token ids run from 0 to {size - 1}" if size else "token ids are not negative",
                hint="correct the token ids, or give a prompt as text",
            )


def sampler(sampling: Sampling) -> Callable[[mx.array], mx.array]:
    """Return mlx-lm's sampler: a function from logits (..., vocabulary) to token ids (...). Greedy choice computes no log-probabilities.

    Raises:
        BadValue: a figure of `sampling` is outside its range.
    """
    import mlx.core as mx
    from mlx_lm.sample_utils import make_sampler

    sampling.check()
    if sampling.temperature == 0:
        return lambda logits: mx.argmax(logits, axis=-1)
    choose = make_sampler(temp=sampling.temperature, top_p=sampling.top_p, min_p=sampling.min_p, top_k=sampling.top_k)
    return lambda logits: choose(logits - mx.logsumexp(logits, axis=-1, keepdims=True))
