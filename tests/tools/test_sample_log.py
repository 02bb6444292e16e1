"""The sample log that comes with kvlab is what its study makes, and holds what its notebook reads from it."""

from __future__ import annotations

import kvlab
from kvlab import shipped
from kvlab.importers import import_file
from tests.tools.store_sample_log import NAME, SHARED, TURNS, sample_lines, sample_recording


def test_it_is_what_the_study_makes() -> None:
    assert shipped.data(NAME).read_text(encoding="utf-8") == "\n".join(sample_lines()) + "\n"


def test_it_is_read_whole_and_tells_the_run() -> None:
    imported = import_file(shipped.data(NAME))
    assert imported.requests == TURNS + 2
    assert imported.summary.of("not_understood") == {}
    run, read = sample_recording().requests, imported.recording.requests
    for column in ("tokens", "matched", "cached", "left", "generated", "nodes"):
        assert read[column].to_list() == run[column].to_list(), column
    assert read["matched"][1] == SHARED
    assert imported.recording.manifest.policy == kvlab.Policy.ollama("0.33.0").to_dict()
