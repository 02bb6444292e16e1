"""An experiment is one thing whichever command makes it: the same rules, shape, weights and reported bytes."""

from __future__ import annotations

import json

import pytest

from kvlab.cli import main
from kvlab.cli.choices import chosen_policy, workload_choices
from kvlab.policy import Policy
from kvlab.studies.reproduce import reproduce
from kvlab.studies.reproduce.published import published
from kvlab.workloads import named

VERSIONS = {"A1": "0.32.12", "A2": "0.32.12", "A3": "0.32.12", "B": "0.30.8", "B:0.30.7": "0.30.7", "C1": "0.32.5", "D7:before": "0.33.0"}
"""The releases that the reports name."""


@pytest.mark.parametrize("name", VERSIONS)
def test_an_experiment_runs_under_the_rules_of_its_report(name: str) -> None:
    work = named(name)
    assert Policy.from_dict(work.policy) == Policy.ollama(VERSIONS[name])
    # a real run takes a model's own chunks and the same rules
    default = Policy(prefill_chunk=128)
    assert chosen_policy(default, workload_choices(work, None), None, (), None) == Policy.ollama(VERSIONS[name]).replace(prefill_chunk=128)


@pytest.mark.parametrize(("name", "figure", "printed"), [("A1", "size_after_15", "23 GB"), ("A2", "size_after_60", "26 GB")])
def test_twin_and_reproduce_print_the_same_size(capsys: pytest.CaptureFixture[str], name: str, figure: str, printed: str) -> None:
    assert main(["twin", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    size = told["requests"][-1]["reported_bytes"]
    row = next(row for row in reproduce([name]).rows if row.figure.id == figure)
    assert row.ours == size / 1e9
    assert row.figure.compared == "reported"
    # `ollama ps` cuts decimals from 10 GB up
    assert f"{int(size / 1e9)} GB" == printed
    assert told["policy"] == Policy.ollama("0.32.12").to_dict()


def test_every_row_names_the_figure_of_ours() -> None:
    assert {one.compared for one in published("A1").figures} == {"weights", "reported"}
    assert all(row["compared"] for row in reproduce(["A1", "states"]).to_dict()["rows"])
