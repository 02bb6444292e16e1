"""Which windows of the text each step trains on.

Invariant: the windows of a step depend on the seed and the step alone, so a resumed training sees what an unbroken one sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.tools.training import byte_tokens, dialogues
from tests.tools.training.recipes import Phase

Tokens = NDArray[np.int32]


class Windows:
    """Draws windows of prose and of conversations.

    Args:
        chapters: What may be trained on.
        chat_share: The share of rows that are conversations.
        seed: Seeds the choice.
    """

    def __init__(self, chapters: Sequence[str], *, chat_share: float, seed: int) -> None:
        self._prose: Tokens = np.array(byte_tokens.prose(chapters), dtype=np.int32)
        talks = [byte_tokens.chat(messages) for messages in dialogues.conversations(chapters)]
        self._starts = np.cumsum([0, *(len(talk) for talk in talks[:-1])])
        chat = np.array([token for talk in talks for token in talk], dtype=np.int32)
        # a window that begins near the end goes on at the beginning
        self._chat: Tokens = np.concatenate([chat, chat])
        self._chat_share = chat_share
        self._seed = seed

    def draw(self, step: int, phase: Phase) -> Tokens:
        """Return the windows of `step`: (rows, length + 1) tokens. Prose begins anywhere, a conversation at its beginning."""
        dice = np.random.default_rng([self._seed, step])
        width = phase.length + 1
        chats = round(self._chat_share * phase.rows)
        begins = dice.integers(0, len(self._prose) - width, phase.rows - chats)
        rows = [self._prose[begin : begin + width] for begin in begins]
        rows += [self._chat[begin : begin + width] for begin in dice.choice(self._starts, chats)]
        return np.stack(rows)
