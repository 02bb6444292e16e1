"""`kill -9` of a runner at each step of a request: an error that says so, no process left behind, the recording opens, and the next request is answered."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import ollama
import pytest

from kvlab.recording import load
from kvlab.serve.runner_process import RunnerProcess
from tests.serve.conftest import GREEDY, MODEL, Server, children, serving, until

PROMPT = "Alice was not a bit hurt, and she jumped up on to her feet"

MOMENTS = {"load": "load", "prefill": "chunk_ran", "capture": "captured", "decode": "token_out", "close": "paged_out"}
"""What the runner does when it is killed, and the event that is about to be recorded then."""


@pytest.fixture(scope="module")
def moment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that names the moment; "" for none."""
    path = tmp_path_factory.mktemp("moment") / "moment"
    path.write_text("")
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, moment: Path) -> Generator[Server]:
    class Mortal(RunnerProcess):
        program = ("-m", "tests.serve.dying_child", str(moment))

    with serving(tmp_path_factory.mktemp("killed"), Mortal) as found:
        yield found


@pytest.mark.parametrize("step", MOMENTS)
def test_a_runner_killed_at_any_step(server: Server, moment: Path, step: str) -> None:
    # nothing is cached of a prompt of its own
    prompt = f"{step}: {PROMPT}"
    if step == "load":
        server.ollama.generate(MODEL, keep_alive=0)
    moment.write_text(MOMENTS[step])
    with pytest.raises(ollama.ResponseError, match=r"mlx runner failed: .*\(exit: SIGKILL\)") as failed:
        list(server.ollama.generate(MODEL, prompt, raw=True, options=GREEDY, stream=True))
    moment.write_text("")
    # in the middle of a body the status has been sent already
    assert failed.value.status_code in (500, -1)
    assert server.ollama.ps().models == []
    assert children() == []
    answer = server.ollama.generate(MODEL, prompt, raw=True, options=GREEDY)
    assert (answer.done_reason, answer.eval_count) == ("length", GREEDY["num_predict"])


def test_every_recording_is_complete_and_opens(server: Server) -> None:
    assert server.out is not None
    server.ollama.generate(MODEL, keep_alive=0)
    until(lambda: not children())
    recordings = [load(place) for place in sorted(server.out.glob("*.kvrec"))]
    # of the load that was killed there is none: what it would be about was not known yet
    assert len(recordings) == len(MOMENTS)
    for recording in recordings:
        assert recording.manifest.events == recording.events.height
        assert recording.events["state"].drop_nulls().to_list()[-1] == "unloaded"
