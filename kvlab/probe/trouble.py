"""Trouble: what a server did instead of answering. It becomes a sign of life in the recording, never a crash."""

from __future__ import annotations


class Trouble(Exception):
    """A call was not answered as the API promises.

    Attributes:
        state: `refused`, `stalled`, `wrong_answer` or `failed`, as in `kvlab.events.LIFE_SIGNS`.
        message: Details in words, without prompts or answers.
        seconds: The time that was allowed, for a stall; else 0.
    """

    def __init__(self, state: str, message: str, seconds: float = 0.0) -> None:
        super().__init__(f"{state}: {message}")
        self.state = state
        self.message = message
        self.seconds = seconds


class Forbidden(Exception):
    """A probe that only reads was about to ask a server for something."""
