"""Why a runner ended, from what the system says and from what it wrote itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.serve.exit_cause import exit_cause, kills_for_memory


@pytest.mark.parametrize(
    ("returncode", "stderr", "kills", "words", "short"),
    [
        (0, b"", 0, "exit code 0", False),
        (1, b"Traceback\nValueError: no\n", 0, "exit code 1", False),
        (1, b"Traceback\nMemoryError\n", 0, "exit code 1", True),
        (-9, b"", 0, "SIGKILL", False),
        (-9, b"", 1, "SIGKILL", True),
        (-15, b"", 1, "SIGTERM", False),
        (-6, b"libc++abi: [METAL] Command buffer execution failed: Insufficient Memory\n", 0, "SIGABRT", True),
        (-11, b"\xff\xfe broken", 0, "SIGSEGV", False),
    ],
)
def test_causes(returncode: int, stderr: bytes, kills: int, words: str, *, short: bool) -> None:
    cause = exit_cause(returncode, stderr, ordered=False, kills=kills)
    assert str(cause).startswith(words)
    assert cause.out_of_memory == short
    assert ("out of memory" in str(cause)) == short
    assert cause.error("m").what.startswith("mlx runner failed: ")


def test_what_the_server_ended_is_no_want_of_memory() -> None:
    cause = exit_cause(-9, b"MemoryError", ordered=True, kills=3)
    assert (str(cause), cause.out_of_memory) == ("closed by the server", False)


def test_the_systems_count_of_kills(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 12\n")
    assert kills_for_memory(tmp_path / "vmstat") == 12
    assert kills_for_memory(tmp_path / "none") == 0
