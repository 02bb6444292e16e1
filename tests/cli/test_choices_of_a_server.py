"""`fit` and `close` act in serving alone: a run that sets one is refused, and what is said of a run leaves them out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.recording.manifest import CHECKSUM

Kvlab = Callable[..., Any]

SETS = ("fit=working_set", "close=signal")


@pytest.mark.parametrize("choice", [*SETS, "fit=system_bound"])
@pytest.mark.parametrize("command", ["twin", "run", "check"])
def test_a_run_that_sets_one_is_refused_with_the_reason(kvlab_says: Kvlab, command: str, choice: str) -> None:
    said = kvlab_says(command, "unrelated:2", "--set", choice)
    assert said.code == 2
    assert choice in said.err
    assert "serving alone" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "policy",
    [
        Policy(fit="working_set"),
        Policy(close="signal"),
        Policy().replace(close="signal"),
        Policy.ollama("0.33.0").replace(fit="system_bound"),
        Policy.from_dict({"version": "0.33.0", "close": "reap"}),
        Policy(fit="working_set", close="signal"),
    ],
)
def test_a_policy_that_sets_one_does_not_run(policy: Policy) -> None:
    twin = kvlab.twin(["kv"])
    for go in (lambda: twin.run("unrelated:2", policy, progress=False), lambda: list(twin.step("Why?", policy))):
        with pytest.raises(BadValue, match="serving alone"):
            go()


def test_a_case_that_sets_one_is_refused(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"id": "x", "layers": {"kv": 1, "kv_bytes_per_token": 1}, "policy": {"fit": "working_set"}, "workload": [{"tokens": [1, 2]}]}))
    said = kvlab_says("twin", path)
    assert said.code == 2
    assert "serving alone" in said.err


@pytest.mark.parametrize("version", ["0.30.7", "0.32.5", "0.33.0"])
def test_a_releases_rules_run_and_what_is_said_of_the_run_leaves_them_out(version: str) -> None:
    policy = Policy.ollama(version)
    assert (policy.fit, policy.close) == ("working_set", "signal")
    made = kvlab.twin(["kv"]).run("unrelated:2", policy.replace(capture_grid=64), progress=False)
    assert not {"fit", "close", "release"} & made.manifest.policy.keys()
    assert "fit=" not in str(made)
    assert "close=" not in str(made)
    assert not {"fit", "close", "release"} & policy.diff(Policy()).keys()
    # the policy that a recording gives back runs again
    assert made.policy is not None
    kvlab.twin(["kv"]).run("unrelated:2", made.policy, progress=False)


def test_comparing_two_releases_names_the_rules_only(kvlab_says: Kvlab, tmp_path: Path) -> None:
    for name, version in (("a", "0.33.0"), ("b", "main")):
        kvlab_says("twin", "unrelated:2", "--policy", version, "--out", tmp_path / f"{name}.kvrec")
    said = kvlab_says("compare", tmp_path / "a.kvrec", tmp_path / "b.kvrec", "--json").json
    assert "protect" in said["policy"]
    assert not {"fit", "close"} & said["policy"].keys()


def test_an_older_recording_that_holds_them_is_read_without(tmp_path: Path) -> None:
    out = tmp_path / "a.kvrec"
    kvlab.twin(["kv"]).run("unrelated:2", Policy.ollama("0.33.0"), out=str(out), progress=False)
    manifest = json.loads((out / "manifest.json").read_text())
    # a version that wrote these choices made no checksum
    del manifest[CHECKSUM]
    manifest["policy"] |= {"fit": "working_set", "close": "signal"}
    (out / "manifest.json").write_text(json.dumps(manifest))
    policy = kvlab.load(str(out)).policy
    assert policy is not None
    kvlab.twin(["kv"]).run("unrelated:2", policy, progress=False)


def test_they_stay_in_the_catalogue_as_entries_of_the_life_cycle(kvlab_says: Kvlab) -> None:
    rows = {row["id"]: row for row in kvlab_says("faults", "--json").json["faults"]}
    assert [(rows[name]["status"], rows[name]["choice"]) for name in ("F-30", "F-31")] == [("lifecycle", one) for one in SETS]
