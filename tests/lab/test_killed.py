"""A run that is killed keeps every request that had closed, but at most the last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kvlab

ENOUGH = 20
RUN = """
import sys
import kvlab
from kvlab.events import RequestClosed

def each(event):
    if isinstance(event, RequestClosed):
        print(event.request, flush=True)

kvlab.twin("smollm2").run("unrelated:64", out=sys.argv[1], progress=False, each=each)
"""


def test_kill_9_in_the_middle_of_a_run(tmp_path: Path) -> None:
    out = tmp_path / "killed.kvrec"
    with subprocess.Popen([sys.executable, "-c", RUN, str(out)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = 0
        while told < ENOUGH:
            told = int(child.stdout.readline())
        child.kill()
    kept = kvlab.load(out)
    assert kept.requests.filter(kept.requests["stop"].is_not_null()).height >= ENOUGH - 1
    assert kept.damaged == ()
