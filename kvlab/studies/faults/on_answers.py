"""Shows that compare a run with a cold one: an overwritten snapshot on real arrays, other chunk sizes, and the pool after a load."""

from __future__ import annotations

from collections.abc import Callable

from kvlab.events import Loaded
from kvlab.findings.is_the_answer_right import is_the_answer_right_cold
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.studies.faults.arms import Figures, Shown
from kvlab.studies.faults.catalogue import CATALOGUE
from kvlab.studies.faults.models import attention_lab
from kvlab.studies.faults.trigger import TWIN, sent
from kvlab.workloads import Request, Workload

_PROMPT = tuple(7 * place % 251 for place in range(96))


def overwritten() -> Shown:
    """Show the overwritten lazy snapshot of F-14 on a random llama: which restored positions differ from a cold run, and whose they are."""
    entry = CATALOGUE["F-14"]
    base = Policy(capture_before_end=1, capture_grid=1000, prefill_chunk=3)
    return _both(
        entry.id,
        tuple(TWIN["F-14"].requests),
        [base.replace(copy_before_overwrite=value) for value in (entry.fault, entry.cure)],
        "request 3, compared with a cold run",
    )


def other_chunks() -> Shown:
    """Show what another chunk size does to a right answer: last bits, never a position."""
    requests = (Request(tokens=_PROMPT, max_new=4, ignore_stop=True), Request(tokens=(*_PROMPT[:70], 9, 9), max_new=4, ignore_stop=True))
    base = Policy(capture_before_end=1, capture_grid=1000)
    # resumed at 70, inside a chunk of 32 and at the end of one of 35: only then can a cold run be cut where the stored one was
    return _both("F-29", requests, [base.replace(prefill_chunk=size) for size in (32, 35)], "request 2 resumes at 70, compared with a cold run cut there")


def pool_after_load() -> Shown:
    """Show what the allocator's pool holds right after a load that turned its weights into another number type, and after the first request."""
    from kvlab.studies.faults.arrays import transformed_at_load

    entry = CATALOGUE["F-08"]
    policies = [Policy().replace(clear_pool_after_load=value) for value in (entry.fault, entry.cure)]
    arms: list[tuple[Policy, Figures, Recording]] = []
    for policy in policies:
        lab = transformed_at_load()
        recording = lab.run(Workload(entry.id, (sent(range(64), [1]),)), policy, progress=False)
        loaded = recording.rows(Loaded)
        figures: Figures = {
            "weights_bytes": loaded.item(0, "weights"),
            "pool_after_load_bytes": loaded.item(0, "pool"),
            "pool_after_the_first_request_bytes": recording.requests.item(0, "pool"),
        }
        arms.append((policy, figures, recording))
    look = "float32 weights turned into float16 while loading: the float32 ones went to the pool"
    return Shown.of(entry.id, "a random llama's arrays", look, arms)


def _both(fault: str, requests: tuple[Request, ...], policies: list[Policy], look: str) -> Shown:
    from kvlab.lab.answer_check import check_answers

    lab = attention_lab()
    arms: list[tuple[Policy, Figures, Recording]] = []
    for policy in policies:
        checked = check_answers(lab, Workload(fault, requests), policy)
        wrong = checked.compared.filter(state="wrong")
        finding = is_the_answer_right_cold(checked.compared)
        figures: Figures = {
            "verdict": finding.verdict,
            "wrong_positions": [
                {"request": row["request"], "layer": row["layer"], "positions": [row["start"], row["end"]], "belongs_to_request": row["belongs_to"]}
                for row in wrong.iter_rows(named=True)
            ],
            "largest_difference_share": finding.numbers["largest_difference_share"],
        }
        arms.append((policy, figures, checked.recording))
    return Shown.of(fault, f"{lab.name}'s arrays", look, arms)


SHOWS: dict[str, Callable[[], Shown]] = {"F-08": pool_after_load, "F-14": overwritten, "F-29": other_chunks}
"""By id: what shows it."""
