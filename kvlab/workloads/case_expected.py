"""What a case expects, as its file says it: known keys with values of their kind. kvlab/cli/expected.py judges it.

Invariants: a key that is not known is an error that names it, whatever its depth. `WORDS` are for readers and not judged. Keys
that begin with `control_` say what holds when the workload runs again under the choices of `control`.
"""

from __future__ import annotations

import re
from typing import Any, cast

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.workloads.case_fields import Fields

WORDS = ("reason", "note", "source", "how_to_see", "settle_rule")
"""Keys for readers. `source` also sets a tolerance: published figures have a closer tolerance."""

UNLOAD_PARTS = ("weights", "live", "snapshots", "pool")
"""What an unload gives back, part by part."""

COUNTS = ("matched", "cached", "left", "nodes")
GIB_FIGURES = ("paged_gib", "reported_gib")
PER_CAPTURE = "counted_per_capture_bytes"
PINNED = re.compile(r"pinned_per_capture_bytes_at_chunk_([1-9][0-9]{0,8})")
AFTER = re.compile(r"after_([1-9][0-9]{0,8})")
PS_SIZE = re.compile(r"([0-9]+(?:\.[0-9])? [KMGT]?B)(?![\w.])")
NO_GAP = re.compile(r"([a-z_]+=\S+) gives zero gap")

_CHECKPOINT_KEYS = ("request", *COUNTS, *GIB_FIGURES, "wrong_positions", "belongs_to_request", "warning")
_CONTROL_KEYS = ("control_checkpoints", "control_verdict", "control_violations", "control_warnings", "control_paged_out_bytes_max")
_COUNT_KEYS = (PER_CAPTURE, "live_capacity_tokens_used", "control_violations", "control_warnings", "control_paged_out_bytes_max")
_TEXT_KEYS = (*WORDS, "verdict", "violation", "control_verdict", "plateau_shown_by_ps")
_KEYS = (
    *_TEXT_KEYS,
    *("checkpoints", "paged_out_bytes", "nodes", "size_gb_decimal", "plateau_gb_decimal", "forecast_rows"),
    *(PER_CAPTURE, "live_capacity_tokens_used", "control", *_CONTROL_KEYS),
)


def expected_of(case: Fields) -> dict[str, Any]:
    """Return the `expected` of a case unchanged, after checking that every key is known and has a value of its kind.

    Raises:
        BadValue: a key is unknown or a value cannot be used; file, key and value are named.
    """
    expected = case.table("expected")
    pinned = [name for name in expected if PINNED.fullmatch(name)]
    fields = Fields(f"{case.where}, expected", expected, (*dict.fromkeys(_KEYS), *pinned))
    for name in fields.data:
        if name in _TEXT_KEYS:
            fields.text(name)
        elif name in _COUNT_KEYS or name in pinned:
            fields.count(name)
    for name in ("paged_out_bytes", "nodes"):
        _require_counts(fields, name)
    for name in ("checkpoints", "control_checkpoints"):
        _require_checkpoints(fields, name)
    _require_sizes(fields)
    _require_control(fields)
    return expected


def control_choices(expected: dict[str, Any]) -> dict[str, Any] | None:
    """Return the choices of a case's control, given as an object or as `FIELD=VALUE gives zero gap`; None when there is none, or other words."""
    control: object = expected.get("control")
    if isinstance(control, dict):
        return cast("dict[str, Any]", control)
    sentence = NO_GAP.fullmatch(control) if isinstance(control, str) else None
    return dict([sentence[1].split("=", 1)]) if sentence else None


def _require_counts(fields: Fields, name: str) -> None:
    if name in fields:
        value = fields.data[name]
        if not isinstance(value, list) or not value or not all(type(one) is int and one >= 0 for one in cast("list[object]", value)):
            raise fields.bad(name, "it is a list of whole numbers of at least 0, one a request")


def _require_checkpoints(fields: Fields, name: str) -> None:
    if name not in fields:
        return
    rows = fields.data[name]
    if not isinstance(rows, list) or not rows:
        raise fields.bad(name, "it is a list of objects, each the state after a request")
    for place, row in enumerate(cast("list[object]", rows)):
        one = Fields(f"{fields.where}, {name}[{place}]", row, _CHECKPOINT_KEYS)
        if "request" not in one:
            raise one.missing("request", "a checkpoint is the state after that request, counted from 1")
        one.count("request", 1, least=1)
        if len(one.data) == 1:
            raise one.missing("matched", f"a checkpoint says something of its request: {', '.join(_CHECKPOINT_KEYS[1:])}")
        for count in (*COUNTS, "belongs_to_request"):
            one.count(count)
        for figure in GIB_FIGURES:
            one.number(figure)
        one.text("warning")
        _require_positions(one)


def _require_positions(one: Fields) -> None:
    if ("wrong_positions" in one) != ("belongs_to_request" in one):
        raise one.missing("belongs_to_request" if "wrong_positions" in one else "wrong_positions", "wrong positions and their owner come together")
    if "wrong_positions" in one:
        value = one.tokens("wrong_positions")
        if len(value) != 2 or value[0] >= value[1]:
            raise one.bad("wrong_positions", "it is a range [a, b) of positions, a below b")


def _require_sizes(fields: Fields) -> None:
    sizes = fields.table("size_gb_decimal")
    known = [name for name in sizes if AFTER.fullmatch(name)]
    inner = Fields(f"{fields.where}, size_gb_decimal", sizes, known or ("after_1",))
    for name in known:
        inner.number(name)
    if "size_gb_decimal" in fields and not known:
        raise fields.bad("size_gb_decimal", "it gives the size after a request in decimal GB, such as after_15")
    fields.number("plateau_gb_decimal")
    if "plateau_shown_by_ps" in fields and not PS_SIZE.match(fields.text("plateau_shown_by_ps")):
        raise fields.bad("plateau_shown_by_ps", "it begins with a size as `ollama ps` prints it, such as 26 GB")
    if "forecast_rows" in fields:
        rows = fields.data["forecast_rows"]
        if not isinstance(rows, list) or not rows:
            raise fields.bad("forecast_rows", f"it is a list of what an unload gives back: {', '.join(UNLOAD_PARTS)}")
        for place, row in enumerate(cast("list[object]", rows)):
            if row not in UNLOAD_PARTS:
                raise fields.bad("forecast_rows", f"row {place + 1} is {row!r}; the parts are {', '.join(UNLOAD_PARTS)}")


def _require_control(fields: Fields) -> None:
    control = fields.data.get("control")
    if "control" in fields and not (isinstance(control, str) and control) and not isinstance(control, dict):
        raise fields.bad("control", "it is an object of policy choices, or words")
    choices = control_choices(fields.data)
    if choices is not None:
        try:
            Policy.from_dict(choices)
        except BadValue as error:
            raise BadValue(what=f"{fields.where}, control: {error.what}", why=error.why, hint=error.hint) from None
    for name in _CONTROL_KEYS:
        if name in fields and choices is None:
            raise fields.bad(name, "it says what holds under the choices of `control`, which are not given as an object")
