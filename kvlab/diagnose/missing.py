"""What a question may lack: by name, the sentence that says so, the commands that record just that, and whether it is missing indeed.

A command whose output is in the recording already is not named again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.finding import Finding, not_enough_data
from kvlab.recording.facts import Facts


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a recording may lack.

    Attributes:
        lacks: The sentence that says so.
        record: The commands or inputs that have it, each with the gauges or sources that show that it was given.
        absent: Whether a recording lacks it.
    """

    lacks: str
    record: tuple[tuple[str, tuple[str, ...]], ...]
    absent: Callable[[Facts], bool]


_PROBE = ("kvlab probe --watch 60", ("probe",))
LOGS = ("ollama-log", "mlx-lm-log", "llama-server", "lm-studio", "omlx", "rapid-mlx", "mlx-openai-server", "mlx-swift", "mtplx", "http")
"""Sources that are a server's log."""

_LOG = ("the server's log at INFO", LOGS)


def _no_requests_with(*columns: str) -> Callable[[Facts], bool]:
    return lambda facts: all(bool(facts.requests[name].is_null().all()) for name in columns)


GAPS: dict[str, Gap] = {
    "free_memory": Gap(
        "Free memory was not recorded.",
        (_PROBE, ("--machine 64GiB", ()), ("on a Mac vm_stat", ("active_pages",)), ("Activity Monitor's pane", ("memory_used",))),
        lambda facts: facts.machine.available is None,
    ),
    "model_bytes": Gap(
        "The bytes that the model takes were not recorded.",
        (("/api/ps (kvlab probe)", ("probe", "size")), ("footprint PID", ("phys_footprint",))),
        lambda facts: facts.parts.held is None,
    ),
    "loaded_model": Gap("No model is listed.", (("a loaded model: kvlab probe", ()),), lambda facts: facts.none_listed),
    "owners": Gap(
        "No figure of an owner of bytes was read.",
        (("/api/ps and the process's footprint together (kvlab probe --watch 60)", ("probe",)), ("on a Mac footprint PID", ("phys_footprint",))),
        lambda facts: not facts.parts.bytes,
    ),
    "footprint": Gap(
        "The process's footprint was not recorded.",
        (_PROBE, ("on a Mac footprint PID", ("phys_footprint",))),
        lambda facts: facts.parts.get("footprint") is None,
    ),
    "allocator": Gap(
        "The bytes of all owners and the allocator's active bytes were not read together at any request's close.",
        (("a run of kvlab's lab or twin", ()),),
        lambda facts: not facts.requests.select((pl.col("active").is_not_null() & pl.col("retained").is_not_null()).any()).item(),
    ),
    "matches": Gap(
        "The requests' matches with the cache were not recorded.",
        (("the server's log at INFO, which has total, matched and cached", LOGS),),
        lambda facts: facts.requests.select((pl.col("matched").is_not_null() & pl.col("cached").is_not_null()).sum()).item() < 2,
    ),
    "seconds": Gap(
        "Seconds of prefill and reply were not recorded.",
        (_LOG, ("kvlab probe --workload A1", ("probe",))),
        lambda facts: facts.exact or _no_requests_with("prefill_s", "ttft_s", "decode_s")(facts),
    ),
    "model_series": Gap(
        "The model's bytes were not recorded after its requests.",
        (("/api/ps after each of 15 requests (kvlab probe --workload A1)", ()),),
        lambda facts: max((rows.height for rows in facts.charged.values()), default=0) < 4,
    ),
    "finer_figures": Gap(
        "The figures' print is too coarse.", (("bytes (/api/ps, kvlab probe)", ()),), lambda facts: max(map(len, facts.series), default=0) < 10**6
    ),
    "verified_positions": Gap(
        "Restored positions were not verified.",
        (("kvlab check of the same workload, or twin.run(..., check=True)", ()),),
        lambda facts: not facts.checked,
    ),
    "shape": Gap("The model's shape is not known.", (("its config.json: --shape config.json", ()),), lambda facts: facts.shape.value is None),
    "a_cache": Gap(
        "Nothing in the recording shows a prefix cache.",
        (("the server's own log or list (kvlab probe, kvlab import server.log)", ("probe",)),),
        lambda facts: facts.policy.how == "unknown",
    ),
    "snapshots": Gap(
        "No snapshot is alive at the end.",
        (("a run whose requests leave something", ()),),
        lambda facts: facts.spans.filter(pl.col("died").is_null()).is_empty(),
    ),
    "cancelled_prefill": Gap(
        "No request with a known end was cancelled in its prefill.",
        (("a request that is cancelled while its prompt is evaluated, and one that sends the same again", ()),),
        lambda _facts: True,
    ),
    "retry": Gap(
        "No later request of the same length matched as far as a cancelled one had come.",
        (("the same prompt, sent again after the cancel", ()),),
        lambda _facts: True,
    ),
    "another_time": Gap("Nothing in the recording explains the seconds.", (("the same requests when they are fast, to compare", ()),), lambda _facts: True),
    "longer": Gap("There are too few figures to tell growth from noise.", (("more requests of the same kind", ()),), lambda _facts: True),
}
"""Everything that a question may lack."""


def how_to_record(name: str, facts: Facts) -> str:
    """Return the sentence that says how to record what is missing: the commands whose output was not given yet; "" when all were."""
    given = {facts.source, *facts.gauges}
    commands = [command for command, shown_by in GAPS[name].record if not given.intersection(shown_by)]
    return f"Record {', or '.join(commands)}." if commands else ""


def unanswered(question: str, missing: str, facts: Facts, lacks: str = "") -> Finding:
    """Return the answer to a question that a recording does not answer: what is missing, and how to record it.

    Args:
        question: The question's name.
        missing: What is missing, a name of `GAPS`.
        facts: What is known.
        lacks: The sentence that says what is missing, where it can be said more exactly.
    """
    return not_enough_data(question, lacks or GAPS[missing].lacks, how_to_record(missing, facts), (missing,))
