"""What a case expects, compared with what was recorded: what was judged, what differs, and what nothing judges, with the reason.

A key is never counted as held unless something judged it. What each key means is in expected_figures.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from kvlab.cli import arguments
from kvlab.cli.choices import chosen_policy, open_twin
from kvlab.cli.expected_figures import CONTROL_JUDGES, PAGED_GIB, PUBLISHED_GIB, Row, Seen, judge_of
from kvlab.cli.result_json import result
from kvlab.findings import diagnose
from kvlab.recording import Recording
from kvlab.shape import TOKEN_KINDS
from kvlab.workloads import Workload
from kvlab.workloads.case_expected import PINNED, WORDS, control_choices

_FOR_READERS = "words for a reader"

_CHANGES = {"shape": "--shape", "layers": "--layers", "scale": "--scale", "policy": "--policy", "choices": "--set", "budget": "--budget"}
"""Flags that change a case's model or rules."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case's `expected`, compared with a run.

    Attributes:
        keys: The keys that were judged, in the file's order.
        differences: Rows of `what`, `request` (None for the whole run), `expected` and `got`.
        not_judged: Rows of `key` and `why`.
    """

    keys: tuple[str, ...] = ()
    differences: tuple[dict[str, Any], ...] = ()
    not_judged: tuple[dict[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it; `holds` is None when nothing was judged."""
        holds = not self.differences if self.keys else None
        return {"holds": holds, "judged": list(self.keys), "differences": list(self.differences), "not_judged": list(self.not_judged)}

    def __str__(self) -> str:
        lines: list[str] = []
        if self.keys:
            lines.append("not what the case expects:" if self.differences else f"what the case expects of {', '.join(self.keys)} holds")
        for row in self.differences:
            where = "" if row["request"] is None else f" of request {row['request']}"
            lines.append(f"  {row['what']}{where}: expected {row['expected']}, got {row['got']}")
        keys: dict[str, list[str]] = {}
        for row in self.not_judged:
            keys.setdefault(row["why"], []).append(row["key"])
        lines += [f"not judged: {', '.join(those)} ({why})" for why, those in keys.items()]
        return "\n".join(lines)


def judge_case(args: argparse.Namespace, workload: Workload, recording: Recording, shown: dict[str, Any]) -> Judged:
    """Compare a case's `expected` with a run, and its `control_*` with one more run under its control.

    Nothing is judged when the run was not the case's: on a real model, or under rules that the command line changed.

    Raises:
        BadValue: the engine does not follow one of the control's choices.
    """
    why = ""
    if "model" in args:
        why = "a real model is not the one that the case describes"
    elif changed := [flag for name, flag in _CHANGES.items() if getattr(args, name, None)]:
        why = f"{' and '.join(changed)} changes the case; its figures are those of the unchanged file"
    if why:
        return Judged(not_judged=({"key": "expected", "why": why},))
    control = _control_of(workload, progress=arguments.shows_progress(args))
    return judge(workload.expected, seen_of(recording, shown, workload), control)


def judge(expected: dict[str, Any], seen: Seen, control: Seen | None = None) -> Judged:
    """Compare a case's `expected` with a run, and its `control_*` with the run under its control."""
    keys: list[str] = []
    rows: list[Row] = []
    unjudged: list[dict[str, str]] = []
    for key, wanted in expected.items():
        if why := _why_not(key, expected, seen, control):
            unjudged.append({"key": key, "why": why})
            continue
        keys.append(key)
        rows += _rows(key, wanted, seen, control)
    differences = tuple({"what": what, "request": request, "expected": wanted, "got": got} for what, request, wanted, got in rows)
    return Judged(tuple(keys), differences, tuple(unjudged))


def seen_of(recording: Recording, result: dict[str, Any], workload: Workload) -> Seen:
    """Return a run as a case judges it, from its recording and its `result_json.result`."""
    published = "published" in str(workload.expected.get("source", ""))
    return Seen(result, workload.question, _live_tokens(recording), PUBLISHED_GIB if published else PAGED_GIB)


def _control_of(workload: Workload, *, progress: bool) -> Seen | None:
    """Run a case under the choices that cure what it shows, each step checked, on a twin of its own; None when it has none, or in words only."""
    choices = control_choices(workload.expected)
    if choices is None:
        return None
    twin = open_twin(workload)
    policy = chosen_policy(twin.policy, {**workload.policy, **choices}, None, (), None)
    recording = twin.run(workload, policy, progress=progress, check=True)
    return seen_of(recording, result(recording, diagnose(recording)), workload)


def _rows(key: str, wanted: Any, seen: Seen, control: Seen | None) -> Iterator[Row]:
    if key in CONTROL_JUDGES:
        if control is not None:
            for what, request, expected, got in CONTROL_JUDGES[key](wanted, control):
                yield f"under the control, {what}", request, expected, got
    elif found := judge_of(key):
        yield from found(wanted, seen)


def _why_not(key: str, expected: dict[str, Any], seen: Seen, control: Seen | None) -> str:
    """Return why `key` is not judged; "" when it is."""
    if key in CONTROL_JUDGES:
        return _why_no_control(key, expected, control)
    chunk, at = seen.result["policy"].get("prefill_chunk"), PINNED.fullmatch(key)
    if at and int(at[1]) != chunk:
        return f"the prefill chunk is {chunk} tokens"
    if key == "live_capacity_tokens_used" and seen.live_tokens is None:
        return "no layer keeps a slot a token"
    return "" if judge_of(key) else _FOR_READERS if key in WORDS else "no command judges it"


def _why_no_control(key: str, expected: dict[str, Any], control: Seen | None) -> str:
    if control_choices(expected) is None:
        return _FOR_READERS
    if control is None:
        return "the control was not run"
    says = key != "control" or isinstance(expected[key], str) or any(name.startswith("control_") for name in expected)
    return "" if says else "no control_... key says what holds under it"


def _live_tokens(recording: Recording) -> int | None:
    """Return the tokens that the live buffers held at most when a reply had been made."""
    groups = recording.manifest.shape.get("groups", [])
    per_token = sum(group["bytes_per_token"] for group in groups if group["kind"] in TOKEN_KINDS)
    state = sum(group["state_bytes"] for group in groups)
    held = recording.bytes.filter((pl.col("owner") == "live") & (pl.col("kind") == "logical") & (pl.col("phase") == "decode"))["value"].max()
    return (held - state) // per_token if per_token and isinstance(held, int) else None
