"""How the tiny models are trained: the text and its split, conversations, windows, the fast delta rule, resuming."""

from __future__ import annotations

import dataclasses
import lzma
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import gated_delta, qwen3_next

from kvlab import shipped
from kvlab.errors import UnreadableInput
from tests.tools.training import byte_tokens, chunked_delta, dialogues, loop, net, text
from tests.tools.training.recipes import RECIPES, Phase, Recipe
from tests.tools.training.windows import Windows

CHAPTER = """It was late.

"Who is there?" said Alice.

"Nobody," said the King,

"Then you are nobody."

The King slept.

"A speech that nobody answers."

"One that is left open

"This one too," he said, "is answered."

"By this."
""".strip()


def test_no_held_out_chapter_is_trained_on_and_none_is_lost() -> None:
    read = text.read()
    chapters = lzma.decompress(shipped.data(text.FILE).read_bytes()).decode().strip("\n").split("\f")
    assert not set(read.trained) & set(read.held_out)
    assert sorted(read.trained + read.held_out) == sorted(chapters)
    assert read.held_out == tuple(chapters[9::20])


@pytest.mark.parametrize("damage", [b"not xz", lzma.compress(b"another text")])
def test_a_damaged_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    (tmp_path / "text").write_bytes(damage)
    monkeypatch.setattr(shipped, "data", lambda _: tmp_path / "text")
    with pytest.raises(UnreadableInput, match=text.FILE):
        text.read()


def test_speeches_that_follow_each_other_are_a_conversation() -> None:
    first = [("user", "Who is there?"), ("assistant", "Nobody.")]
    shifted = [("user", "Nobody."), ("assistant", "Then you are nobody.")]
    assert dialogues.conversations([CHAPTER]) == [first, shifted, [("user", "This one too, is answered."), ("assistant", "By this.")]]


def test_windows_depend_on_seed_and_step_alone() -> None:
    phase = Phase(steps=1, rows=8, length=32)
    chapters = [CHAPTER, "Prose. " * 20]
    made = [Windows(chapters, chat_share=0.25, seed=seed) for seed in (0, 0, 1)]
    one, same, other = (windows.draw(3, phase) for windows in made)
    assert one.shape == (8, 33)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, made[0].draw(4, phase))
    starts = [bytes(row[:6].tolist()) == b"User: " for row in one]
    assert starts == [False] * 6 + [True] * 2


def test_phases_follow_each_other() -> None:
    recipe = dataclasses.replace(RECIPES["tiny-hybrid"], phases=(Phase(2, 1, 16), Phase(1, 1, 32)))
    assert [recipe.phase_at(step).length for step in range(recipe.steps)] == [16, 16, 32]
    assert recipe.tokens == 64


def test_the_fast_delta_rule_is_that_of_mlx_lm() -> None:
    keys = mx.random.split(mx.random.key(7), 5)
    shapes = [(2, 48, 2, 8), (2, 48, 2, 8), (2, 48, 4, 6), (2, 48, 4), (2, 48, 4)]
    q, k, v, a, b = (mx.random.normal(shape, key=key) for shape, key in zip(shapes, keys, strict=True))
    q, k = gated_delta.normalize_qk(q, k, inv_scale=8**-0.5, eps=1e-6)
    others = (mx.array([-1.0, 0.0, 1.0, 2.5]), mx.ones(4))
    output, state = gated_delta.gated_delta_update(q, k, v, a, b, *others, use_kernel=False)
    fast_output, fast_state = chunked_delta.update(q, k, v, a, b, *others)
    assert mx.allclose(fast_output, output, rtol=1e-4, atol=1e-5)
    assert mx.allclose(fast_state, state, rtol=1e-4, atol=1e-5)


def test_the_fast_delta_rule_is_used_only_while_training() -> None:
    layers: Any = qwen3_next
    own = layers.gated_delta_update
    with chunked_delta.in_use():
        assert layers.gated_delta_update is chunked_delta.update
    assert layers.gated_delta_update is own


def _short(name: str) -> Recipe:
    return dataclasses.replace(RECIPES[name], phases=(Phase(3, 2, 16), Phase(2, 1, 32)), warm_up=2)


class _Stopped(Windows):
    """Windows that end after the third step, as a stopped training does."""

    def draw(self, step: int, phase: Phase) -> Any:
        if step == 3:
            raise KeyboardInterrupt
        return super().draw(step, phase)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_training_that_was_stopped_goes_on_as_if_it_was_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "EVERY", 2)
    recipe, chapters = _short(name), text.read().trained[:2]
    windows = Windows(chapters, chat_share=0.5, seed=0)
    unbroken = net.build(recipe)
    whole = loop.train(unbroken, recipe, windows, tmp_path / "unbroken")
    with pytest.raises(KeyboardInterrupt):
        loop.train(net.build(recipe), recipe, _Stopped(chapters, chat_share=0.5, seed=0), tmp_path / "stopped")
    resumed = net.build(recipe)
    rest = loop.train(resumed, recipe, windows, tmp_path / "stopped")
    assert rest.losses == whole.losses
    for (_, one), (_, other) in zip(_arrays(unbroken), _arrays(resumed), strict=True):
        assert mx.array_equal(one, other)


def test_a_checkpoint_of_another_recipe_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "EVERY", 1)
    recipe = dataclasses.replace(_short("tiny-sliding"), phases=(Phase(1, 1, 16),))
    windows = Windows([CHAPTER * 9], chat_share=0.0, seed=0)
    loop.train(net.build(recipe), recipe, windows, tmp_path)
    other = dataclasses.replace(recipe, seed=1)
    assert len(loop.train(net.build(other), other, windows, tmp_path).losses) == 1
    assert loop.train(net.build(other), other, windows, tmp_path).steps == 1


def _arrays(model: Any) -> list[tuple[str, mx.array]]:
    flat: Any = tree_flatten(model.parameters())
    return sorted(flat)


def test_the_end_of_a_chapter_and_of_a_reply_is_a_token() -> None:
    assert byte_tokens.prose(["ab", "c"]) == [97, 98, byte_tokens.END, 99, byte_tokens.END]
    assert byte_tokens.chat([("user", "a"), ("assistant", "b")]) == [*b"User: a\nAssistant: b", byte_tokens.END, *b"\n"]
