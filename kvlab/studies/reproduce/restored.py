"""What requests restore: C1 (#17599), the calls that restore positions which another request wrote, and #18267, the follow-ups of a cold prompt."""

from __future__ import annotations

from dataclasses import replace

from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.studies.faults import contamination
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made, Table
from kvlab.studies.reproduce.scenes import run, run_named
from kvlab.workloads import named
from kvlab.workloads.contamination import NOTES, contamination_requests
from kvlab.workloads.experiments import HYBRID_27B

CONTEXTS = (8192, 32768, 65536)
GEMMA = "gemma3-12b"

OTHER_LENGTHS = ((60, 14, 16), (60, 14, 64), (16, 14, 16), (14, 14, 16))
"""Tokens of the two notes and of a reply that were tried instead of C1's own: the report gives none."""

RULED_OUT = (
    ("cache number type (q8_0, f16)", "no such choice in this runner", "upstream's MLX runner does not read it; a snapshot holds what the layer holds"),
    ("temperature", "no such choice in this runner", "which token is taken changes what a reply writes, not where"),
    ("num_ctx", "no such choice in this runner", "upstream's MLX runner reports it and allocates by tokens: one run counts for the three"),
)
"""What the report ruled out, what it is here, and why."""


def another_answer(published: Published) -> Made:
    """C1: count the calls of each arm."""
    del published
    mixed, equal, gemma = (_wrong(one) for one in (run_named("C1"), run_named("C1:equal"), contamination.on_twin(shape=GEMMA)))
    figures: dict[str, float | None] = {f"wrong_{context}": sum(mixed) for context in CONTEXTS}
    figures |= {
        "wrong_65536_round_1": mixed[0],
        "unloaded": sum(_wrong(run_named("C1:unloaded"))),
        "fixed": sum(_wrong(run_named("C1:after"))),
        "equal_lengths": sum(equal),
        "gemma_12b": sum(gemma),
    }
    hybrid, hybrid_equal, gemma_equal = (
        _wrong(contamination.on_twin(lengths=lengths, shape=shape)) for lengths, shape in (("mixed", HYBRID_27B), ("equal", HYBRID_27B), ("equal", GEMMA))
    )
    shapes = (_shape("smollm2", mixed, equal), _shape(HYBRID_27B, hybrid, hybrid_equal), _shape(GEMMA, gemma, gemma_equal))
    title = "calls with wrong positions of 48 under v0.32.5 (of them in rounds 1, 2, 3)"
    tried = Table(f"{title}, by lengths", ("notes of tokens", "replies of tokens", "calls"), tuple(map(_tried, OTHER_LENGTHS)))
    ruled_out = Table("what the report ruled out", ("arm", "here", "why"), RULED_OUT)
    return Made(figures, (Table(f"{title}, by shape", ("shape", *NOTES), shapes), tried, ruled_out))


def follow_ups(published: Published) -> Made:
    """#18267: after a cold prompt a follow-up is restored from the grid of captures; three lines of a log of v0.33.3.

    Its whole length and what matches are the report's, `cached` and `left` are ours.
    """
    figures: dict[str, float | None] = {}
    for total in dict.fromkeys(one.id.split("_")[0] for one in published.figures):
        matched = round(published.value(f"{total}_matched"))
        row = run(scenes.hybrid27(), scenes.follow_up(matched, int(total)), Policy.ollama("0.33.0")).requests.row(1, named=True)
        figures |= {f"{total}_{name}": row[name] for name in ("matched", "cached", "left")}
    return Made(figures)


def _tried(lengths: tuple[int, int, int]) -> tuple[object, ...]:
    """Return the calls that are wrong with notes and replies of other lengths."""
    long, short, reply = lengths
    work = named("C1")
    sent = contamination_requests(lengths=(" cold" * long, " warm" * short))
    work = replace(work, requests=tuple(replace(one, max_new=reply) for one in sent))
    wrong = _wrong(run(read_shape(work.shape_name), work, Policy.ollama(contamination.FAULT_VERSION)))
    return f"{long} and {short}", reply, _counted(wrong)


def _shape(name: str, *arms: list[int]) -> tuple[object, ...]:
    return name, *map(_counted, arms)


def _counted(wrong: list[int]) -> str:
    return f"{sum(wrong)} ({', '.join(map(str, wrong))})"


def _wrong(recording: Recording) -> list[int]:
    """Return the calls with wrong positions by round."""
    return contamination.counts(recording)["calls_with_wrong_positions_by_round"]
