"""How each key of a case's `expected` is compared with a run: a row of what, request, expected and got for each figure that differs.

Counts are exact. Paged-out bytes may differ by 0.01 GiB (0.005 where the case's source says published), reported ones by 0.05 GiB. A figure
in decimal GB is met at the digits given. It is weights + live buffers + snapshots, each whole, as #17875's sizes are: 18.6 and 23.1 GB.
`reported_gib` counts a state that live buffers and snapshots share once, as the 50-turn table does (kvlab/recording/reported.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kvlab.recording.reported import ps_size
from kvlab.units import GB, GIB
from kvlab.workloads.case_expected import AFTER, COUNTS, NO_GAP, PER_CAPTURE, PINNED, PS_SIZE, UNLOAD_PARTS

PAGED_GIB, PUBLISHED_GIB, REPORTED_GIB = 0.01, 0.005, 0.05

Row = tuple[str, int | None, Any, Any]
"""What differs, in which request (None for the whole run), what was expected, what was got."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as a case judges it.

    Attributes:
        result: What it did, as `kvlab.cli.result_json.result` returns it.
        question: The question that the workload answers; "" when it names none.
        live_tokens: Tokens that the live buffers held at most at the end of a request; None when no layer keeps a slot a token.
        paged_gib: How far paged-out GiB may be off.
    """

    result: dict[str, Any]
    question: str = ""
    live_tokens: int | None = None
    paged_gib: float = PAGED_GIB

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The requests."""
        return self.result["requests"]

    def row(self, request: int) -> dict[str, Any] | None:
        """Return what is known after request number `request`; None when the run has none of that number."""
        return next((row for row in self.rows if row["request"] == request), None)

    def numbers(self, question: str) -> dict[str, Any]:
        """Return the numbers of the finding on `question`; none when there is no such finding."""
        none: dict[str, Any] = {}
        return next((one["numbers"] for one in self.result["findings"] if one["question"] == question), none)


Judge = Callable[[Any, Seen], Iterator[Row]]


def judge_of(key: str) -> Judge | None:
    """Return what judges `key`; None for words and for what another key is judged by."""
    return _pinned_figure("pinned_per_capture_bytes") if PINNED.fullmatch(key) else JUDGES.get(key)


def _equal(name: str, read: Callable[[Seen], Any]) -> Judge:
    def judged(wanted: Any, seen: Seen) -> Iterator[Row]:
        if wanted != (got := read(seen)):
            yield name, None, wanted, got

    return judged


def _of_requests(name: str) -> Judge:
    return _equal(name, lambda seen: [row[name] for row in seen.rows])


def _pinned_figure(name: str) -> Judge:
    return _equal(name, lambda seen: seen.numbers("who_holds_it").get(name))


def _verdict(wanted: str, seen: Seen) -> Iterator[Row]:
    own = [one["verdict"] for one in seen.result["findings"] if one["question"] == seen.question]
    got = own or [one["verdict"] for one in seen.result["findings"]]
    if wanted not in got:
        yield "verdict", None, wanted, got[0] if own else got


def _checkpoints(wanted: list[dict[str, Any]], seen: Seen) -> Iterator[Row]:
    for one in wanted:
        row = seen.row(one["request"])
        if row is None:
            yield "requests", None, one["request"], len(seen.rows)
        else:
            yield from _checkpoint(one, row, seen.paged_gib)


def _checkpoint(wanted: dict[str, Any], row: dict[str, Any], paged: float) -> Iterator[Row]:
    number = row["request"]
    for name in COUNTS:
        if name in wanted and wanted[name] != row[name]:
            yield name, number, wanted[name], row[name]
    for name, key, tolerance in (("paged_gib", "paged_out_bytes", paged), ("reported_gib", "reported_bytes", REPORTED_GIB)):
        got = row[key]
        # the tolerance is one of printed figures: the last bit of a binary fraction must not decide
        if name in wanted and (got is None or abs(got / GIB - wanted[name]) > tolerance + 1e-9):
            yield name, number, wanted[name], None if got is None else round(got / GIB, 4)
    if "wrong_positions" in wanted:
        found = [(one["positions"], one["belongs_to_request"]) for one in row["wrong_positions"]]
        if (wanted["wrong_positions"], wanted["belongs_to_request"]) not in found:
            yield "wrong_positions", number, [wanted["wrong_positions"], wanted["belongs_to_request"]], found
    if "warning" in wanted and not any(wanted["warning"] in warning for warning in row["warnings"]):
        yield "warning", number, wanted["warning"], row["warnings"]


def _violation(wanted: str, seen: Seen) -> Iterator[Row]:
    if wanted not in (found := [row["detail"] for row in seen.result["violations"]]):
        yield "violation", None, wanted, found


def _sizes(wanted: dict[str, float], seen: Seen) -> Iterator[Row]:
    for name, size in wanted.items():
        after = AFTER.fullmatch(name)
        row = seen.row(int(after[1])) if after else None
        yield from _decimal(f"size_gb_decimal.{name}", size, row["retained_bytes"] if row else None)


def _decimal(what: str, wanted: float, got: int | None) -> Iterator[Row]:
    digits = len(str(wanted).partition(".")[2])
    if got is None or round(got / GB, digits) != wanted:
        yield what, None, wanted, None if got is None else round(got / GB, digits + 1)


def _plateau_by_ps(wanted: str, seen: Seen) -> Iterator[Row]:
    size, count = PS_SIZE.match(wanted), _plateau_bytes(seen)
    got = None if count is None else ps_size(count)
    if size is None or size[1] != got:
        yield "plateau_shown_by_ps", None, wanted, got


def _plateau_bytes(seen: Seen) -> int | None:
    return seen.numbers("budget_or_leak").get("observed_plateau_bytes")


def _forecast(wanted: list[str], seen: Seen) -> Iterator[Row]:
    numbers = seen.numbers("what_will_unload_give_back")
    got = [part for part in UNLOAD_PARTS if numbers.get(f"{part}_bytes") is not None]
    if sorted(wanted) != sorted(got):
        yield "forecast_rows", None, wanted, got


JUDGES: dict[str, Judge] = {
    "verdict": _verdict,
    "checkpoints": _checkpoints,
    "paged_out_bytes": _of_requests("paged_out_bytes"),
    "nodes": _of_requests("nodes"),
    "violation": _violation,
    "size_gb_decimal": _sizes,
    "plateau_gb_decimal": lambda wanted, seen: _decimal("plateau_gb_decimal", wanted, _plateau_bytes(seen)),
    "plateau_shown_by_ps": _plateau_by_ps,
    "forecast_rows": _forecast,
    PER_CAPTURE: _pinned_figure(PER_CAPTURE),
    "live_capacity_tokens_used": _equal("live_capacity_tokens_used", lambda seen: seen.live_tokens),
}
"""What judges a key of the run itself."""


def _no_gap(wanted: object, control: Seen) -> Iterator[Row]:
    # as an object it has keys of its own that say what holds
    if isinstance(wanted, str) and NO_GAP.fullmatch(wanted):
        yield from _equal("pinned bytes", lambda seen: seen.numbers("who_holds_it").get("largest_pinned_bytes"))(0, control)


def _paged_out_at_most(wanted: int, control: Seen) -> Iterator[Row]:
    got = max((row["paged_out_bytes"] for row in control.rows), default=None)
    if got is None or got > wanted:
        yield "paged_out_bytes at most", None, wanted, got


CONTROL_JUDGES: dict[str, Judge] = {
    "control": _no_gap,
    "control_checkpoints": _checkpoints,
    "control_verdict": _verdict,
    "control_violations": _equal("violations", lambda control: len(control.result["violations"])),
    "control_warnings": _equal("warnings", lambda control: sum(len(row["warnings"]) for row in control.rows)),
    "control_paged_out_bytes_max": _paged_out_at_most,
}
"""What judges a key of the run under the case's control."""
