from __future__ import annotations

import argparse
import importlib
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kvlab.cli import lab, lab_startup
from kvlab.cli.choices import chosen_policy
from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.studies import bench_runner, machine
from kvlab.studies.bench_runner import Bench, Speed

Kvlab = Callable[..., Any]


def bench(ours: float, theirs: float) -> Bench:
    return Bench(Speed((ours, ours * 9, ours)), Speed((theirs, theirs, theirs / 9)), "m", 128, {"cpus": 2})


def test_later_choices_win_and_single_ones_stay() -> None:
    default = Policy(prefill_chunk=128)
    assert chosen_policy(default, {}, None, [], None) == default
    of_case = {"version": "0.32.7", "budget_bytes": 60, "prefill_chunk": 9}
    assert chosen_policy(default, of_case, None, [], None) == Policy.ollama("0.32.7").replace(budget_bytes=60, prefill_chunk=9)
    with pytest.raises(BadValue, match="the policy sets"):
        chosen_policy(default, of_case, None, ["store=whole_entry_lru"], None)
    assert chosen_policy(default, of_case, "main", [], None) == Policy(budget_bytes=60, prefill_chunk=9)
    assert chosen_policy(default, {"budget_bytes": 60}, None, [], None) == Policy(budget_bytes=60, prefill_chunk=128)
    assert chosen_policy(default, {"budget_bytes": 60}, "main", [], None) == Policy(budget_bytes=60, prefill_chunk=128)
    assert chosen_policy(default, of_case, "main", ["budget_bytes=1KiB"], "2KiB").budget_bytes == 2048
    assert chosen_policy(default, {}, "kvlab", [], None) == Policy.kvlab().replace(prefill_chunk=128)


def test_doctor_says_what_is_here(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVLAB_CACHE", str(tmp_path / "cache"))
    seen = kvlab_says("doctor", "--json").json
    assert set(seen) >= {"python", "versions", "mlx_device", "blas", "browser", "cache_folder", "models", "free_disk_bytes"}
    assert seen["models"] == []
    assert seen["versions"]["mlx"]
    assert seen["free_disk_bytes"] > 0
    (tmp_path / "cache" / "models" / "some").mkdir(parents=True)
    (tmp_path / "cache" / "models" / "some" / "weights").write_bytes(b"123")
    assert kvlab_says("doctor", "--json").json["models"] == [{"name": "some", "bytes": 3}]
    text = kvlab_says("doctor").out
    assert "BLAS" in text
    assert f"{seen['system']} {seen['version']} {seen['architecture']}, {seen['cpus']} CPUs" in text
    assert "some, 3 B" in text


def test_the_browser_that_a_user_names_goes_before_the_usual_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, usual = tmp_path / "mine", tmp_path / "bin" / "chromium"
    usual.parent.mkdir()
    for program in (mine, usual):
        program.write_text("")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(usual.parent))
    monkeypatch.setattr(machine, "MAC_BROWSERS", ())
    monkeypatch.setenv(machine.CHROMIUM, str(mine))
    assert machine.find_browser() == str(mine)
    monkeypatch.setenv(machine.CHROMIUM, str(tmp_path / "not-there"))
    assert machine.find_browser() == str(usual)
    monkeypatch.delenv(machine.CHROMIUM)
    usual.unlink()
    assert machine.find_browser() is None


def test_bench_fails_under_its_bar_and_only_then(kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_runner, "measure", lambda *_, **__: bench(1.0, 0.96))
    said = kvlab_says("bench", "runner", "--json")
    assert said.code == 0
    assert said.json["bench"] == "runner"
    assert said.json["ratio"] == pytest.approx(0.96)
    assert said.json["passed"] is True
    monkeypatch.setattr(bench_runner, "measure", lambda *_, **__: bench(1.0, 0.94))
    said = kvlab_says("bench", "runner")
    assert said.code == 1
    assert "ratio 0.940 (BELOW the bar of 0.95)" in said.out


def test_bench_needs_a_round(kvlab_says: Kvlab) -> None:
    assert kvlab_says("bench", "runner", "--rounds", "0").code == 2


def test_lab_opens_the_folder_and_keeps_the_users_startup_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "mine.py")
    args = argparse.Namespace(folder=str(tmp_path), port=8890, no_browser=True)
    words = lab.server_command(args)
    assert words[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path.resolve()}" in words
    assert "--ServerApp.port=8890" in words
    assert "--no-browser" in words
    environment = lab.environment()
    assert environment["PYTHONSTARTUP"] == lab_startup.__file__
    assert environment[lab_startup.BEFORE] == "mine.py"


@pytest.mark.parametrize("port", [-1, 65536])
def test_lab_refuses_a_port_or_a_folder_before_jupyter_starts(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(lab.subprocess, "Popen", lambda *_, **__: pytest.fail("Jupyter was started"))
    said = kvlab_says("lab", "--port", port)
    assert said.code == 2
    assert f"port {port}" in said.err
    said = kvlab_says("lab", "--folder", tmp_path / "gone")
    assert said.code == 2
    assert "there is no folder" in said.err


def test_jupyterlab_finds_the_settings_without_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", lab.environment(lab.quiet_settings(tmp_path))["JUPYTER_CONFIG_PATH"])
    settings: Any = importlib.import_module("jupyterlab_server.settings_utils")
    overrides, error = settings._get_overrides(str(tmp_path / "none"))
    assert not error
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


LAB = """
import sys
from kvlab.cli import lab, main
lab.server_command = lambda args: [sys.executable, "-c", "import os, sys, time; print(os.getpid(), flush=True); time.sleep(3600)"]
sys.exit(main(["lab"]))
"""


def test_what_ends_lab_ends_the_server() -> None:
    with subprocess.Popen([sys.executable, "-c", LAB], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        server = int(running.stdout.readline())
        running.terminate()
        assert running.wait(60) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_the_startup_file_loads_the_extension_then_the_users_file_and_leaves_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    shell = SimpleNamespace(run_line_magic=lambda name, line: ran.append(f"%{name} {line}"))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    mine = tmp_path / "mine.py"
    mine.write_text("import os; os.environ['KVLAB_TEST_STARTUP'] = 'ran'")
    monkeypatch.setenv(lab_startup.BEFORE, str(mine))
    monkeypatch.setenv("KVLAB_TEST_STARTUP", "")
    names = runpy.run_path(lab_startup.__file__, run_name="__main__")
    assert ran == ["%load_ext kvlab"]
    assert os.environ["KVLAB_TEST_STARTUP"] == "ran"
    assert not {name for name in names if not name.startswith("__")}


def test_several_experiments_are_reproduced_in_the_order_named_and_each_once(kvlab_says: Kvlab) -> None:
    def parts(*names: str) -> list[str]:
        return list(dict.fromkeys(row["experiment"] for row in kvlab_says("reproduce", *names, "--json").json["rows"]))

    assert parts("A2", "A1") == ["A2", "A1"]
    assert parts("A1", "A1", "a2") == ["A1", "A2"]
    said = kvlab_says("reproduce", "A1", "conformance")
    assert said.code == 2
    assert "conformance was given with A1" in said.err
    said = kvlab_says("reproduce", "A1", "Z9")
    assert said.code == 2
    assert "Z9" in said.err
