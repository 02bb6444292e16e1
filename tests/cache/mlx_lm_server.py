"""mlx-lm's own server (`mlx_lm.server.ResponseGenerator`, its thread, batch generator and prompt cache) on a net of the test's, without HTTP."""

# pyright: standard
from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from typing import Any

import mlx.core as mx
from mlx_lm import server
from mlx_lm.models.cache import ArraysCache, KVCache, LRUPromptCache, RotatingKVCache
from mlx_lm.tokenizer_utils import TokenizerWrapper
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.cache.array_model import WINDOW

WORDS = 60
TEMPLATE = (
    "{{ '<s> ' }}{% for m in messages %}{{ '<' + m.role + '> ' + m.content + ' <end> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant> THINK' }}{% endif %}"
)
PLAIN = server.SamplingArguments(0.0, 1.0, 0, 0.0, 0.0, 0.0)
UNCHANGED = server.LogitsProcessorArguments(None, 0.0, 20, 0.0, 20, 0.0, 20)


def tokenizer(thinking: str) -> TokenizerWrapper:
    """Return mlx-lm's wrapper of a tokenizer with a token a word; a prompt for a reply ends with the words of `thinking`."""
    words = [f"w{number}" for number in range(WORDS)]
    marks = ["<s>", "<end>", "<system>", "<user>", "<assistant>", "<tool>", "<?>", *(["<think>", "</think>"] if thinking else [])]
    vocabulary = {word: at for at, word in enumerate([*words, *marks])}
    model = Tokenizer(models.WordLevel(vocabulary, unk_token="<?>"))  # noqa: S106  a word
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<end>", unk_token="<?>")  # noqa: S106  as above
    fast.chat_template = TEMPLATE.replace("THINK", thinking)
    return TokenizerWrapper(fast)


class Net:
    """A net that writes rows and states as `array_model` prices them, and says after word n word 7 n + 3."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.layers = self.kinds = list(kinds)

    def make_cache(self) -> list[Any]:
        made = {"kv": KVCache, "rotating": lambda: RotatingKVCache(WINDOW), "recurrent": lambda: ArraysCache(2)}
        return [made[kind]() for kind in self.kinds]

    def __call__(self, tokens: mx.array, cache: list[Any]) -> mx.array:
        batch, length = tokens.shape
        for kind, one in zip(self.kinds, cache, strict=True):
            if kind == "recurrent":
                one[0], one[1] = mx.zeros((batch, 3, 1)), mx.zeros((batch, 1, 1))
            else:
                one.update_and_fetch(mx.zeros((batch, 1, length, 3)), mx.zeros((batch, 1, length, 3)))
        following = (tokens * 7 + 3) % WORDS
        return (following[:, :, None] == mx.arange(WORDS)[None, None]).astype(mx.float32)


class Watched(LRUPromptCache):
    """mlx-lm's prompt cache, which also says when a key was inserted: the server sends a reply's end before it keeps it."""

    def __init__(self, max_size: int, max_bytes: int) -> None:
        super().__init__(max_size, max_bytes)
        self.inserted: Queue[int] = Queue()

    def insert_cache(self, model: Any, tokens: list[int], prompt_cache: list[Any], *, cache_type: str = "assistant") -> None:
        super().insert_cache(model, tokens, prompt_cache, cache_type=cache_type)
        self.inserted.put(len(tokens))

    def keys(self) -> dict[str, list[tuple[int, ...]]]:
        """Return the tokens of every entry by type, the oldest first."""
        return {kind: [tuple(tokens) for _, tokens in one] for kind, one in self._lru._lrus.items()}


class Provider:
    """What the server takes its model from."""

    is_batchable, processor, draft_model, model_key = True, None, None, ("net", None, None)
    cli_args = argparse.Namespace(
        chat_template_args={}, kv_bits=None, prompt_cache_bytes=None, decode_concurrency=32, prompt_concurrency=8, prefill_step_size=2048
    )

    def __init__(self, model: Any, words: TokenizerWrapper) -> None:
        self.model, self.tokenizer = model, words

    def load_default(self) -> None: ...

    def load(self, *_: Any) -> tuple[Any, TokenizerWrapper]:
        return self.model, self.tokenizer

    def reset(self) -> None: ...


class Server:
    """A running server and its prompt cache."""

    def __init__(self, net: Any, words: TokenizerWrapper, max_size: int = 10, max_bytes: int = 1 << 63) -> None:
        self.cache = Watched(max_size, max_bytes)
        self._running = server.ResponseGenerator(Provider(net, words), self.cache)  # pyright: ignore[reportArgumentType]

    def ask(self, request: str | Sequence[tuple[str, str]], tokens: int) -> tuple[list[int], int, list[int]]:
        """Send a plain prompt or chat messages; return the prompt's tokens, how many were cached, and the reply's."""
        messages = None if isinstance(request, str) else [{"role": role, "content": content} for role, content in request]
        sent = server.CompletionRequest("text" if messages is None else "chat", request if isinstance(request, str) else "", messages or [], None, None)
        named = server.ModelDescription("net", None, None)  # pyright: ignore[reportArgumentType]
        context, reply = self._running.generate(
            sent, server.GenerationArguments(named, PLAIN, UNCHANGED, [], tokens, 0, logprobs=False, top_logprobs=0, seed=None, chat_template_kwargs=None)
        )
        said = [one.token for one in reply]
        while self.cache.inserted.get(timeout=60) < len(context.prompt) + len(said):
            pass
        return context.prompt, context.prompt_cache_count, said

    def stop(self) -> None:
        """End its thread."""
        self._running.stop_and_join()


@contextmanager
def running(net: Any, words: TokenizerWrapper, max_size: int = 10, max_bytes: int = 1 << 63) -> Iterator[Server]:
    """Run a server."""
    one = Server(net, words, max_size, max_bytes)
    try:
        yield one
    finally:
        one.stop()
