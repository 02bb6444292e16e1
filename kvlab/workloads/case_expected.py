"""What a case expects, as its file says it: known keys with values of their kind. kvlab/cli/expected.py judges it.

Invariants: a key that is not known is an error that names it, whatever its depth. `WORDS` are for readers and not judged. Keys
that begin with `control_` say what holds when the workload runs again under the choices of `control`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast, get_args

from msgspec import Meta, Struct

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.typed_json import Amount, Count, Placed, Text, typed

WORDS = ("reason", "note", "source", "how_to_see", "settle_rule")
"""Keys for readers. `source` also sets a tolerance: published figures have a closer tolerance."""

UnloadPart = Literal["weights", "live", "snapshots", "pool"]
UNLOAD_PARTS: tuple[str, ...] = get_args(UnloadPart)
"""What an unload gives back, part by part."""

COUNTS = ("matched", "cached", "left", "nodes")
PER_CAPTURE = "counted_per_capture_bytes"
PINNED = re.compile(r"pinned_per_capture_bytes_at_chunk_([1-9][0-9]{0,8})")
AFTER = re.compile(r"after_([1-9][0-9]{0,8})")
PS_SIZE = re.compile(r"([0-9]+(?:\.[0-9])? [KMGT]?B)(?![\w.])")
NO_GAP = re.compile(r"([a-z_]+=\S+) gives zero gap")

_Sizes = dict[Annotated[str, Meta(pattern=f"^{AFTER.pattern}$", description="after_ and a request's number, such as after_15")], Amount]


class Checkpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """The state after a request, counted from 1."""

    request: Annotated[int, Meta(ge=1)]
    matched: Count = 0
    cached: Count = 0
    left: Count = 0
    nodes: Count = 0
    paged_gib: Amount = 0.0
    reported_gib: Amount = 0.0
    wrong_positions: tuple[Count, Count] = (0, 0)
    belongs_to_request: Count = 0
    warning: Text = ""


_Checkpoints = Annotated[list[Checkpoint], Meta(min_length=1)]
_Counts = Annotated[list[Count], Meta(min_length=1)]


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that a case may expect something of. Values are read from the file's own object: this says what they may be."""

    reason: Text = ""
    note: Text = ""
    source: Text = ""
    how_to_see: Text = ""
    settle_rule: Text = ""
    verdict: Text = ""
    violation: Text = ""
    control_verdict: Text = ""
    plateau_shown_by_ps: Annotated[str, Meta(pattern=f"^{PS_SIZE.pattern}", description="a size as `ollama ps` prints it, such as 26 GB")] = ""
    checkpoints: _Checkpoints = []
    paged_out_bytes: _Counts = []
    nodes: _Counts = []
    size_gb_decimal: Annotated[_Sizes, Meta(min_length=1)] = {}
    plateau_gb_decimal: Amount = 0.0
    forecast_rows: Annotated[list[UnloadPart], Meta(min_length=1)] = []
    counted_per_capture_bytes: Count = 0
    live_capacity_tokens_used: Count = 0
    control: Text | dict[str, Any] = ""
    control_checkpoints: _Checkpoints = []
    control_violations: Count = 0
    control_warnings: Count = 0
    control_paged_out_bytes_max: Count = 0


def require_expected(expected: dict[str, Any], where: str) -> None:
    """Check that every key of a case's `expected` is known and has a value of its kind.

    Raises:
        BadValue: a key is unknown or a value cannot be used; file, key and value are named.
    """
    pinned = {name: value for name, value in expected.items() if PINNED.fullmatch(name)}
    typed(pinned, dict[str, Count], where)
    placed = Placed(where, {name: value for name, value in expected.items() if name not in pinned}, Expected)
    for key in ("checkpoints", "control_checkpoints"):
        for place, row in enumerate(expected.get(key, ())):
            _require_row(Placed(f"{where}, {key}[{place}]", row, Checkpoint))
    choices = control_choices(expected)
    if choices is not None:
        require_policy(choices, f"{where}, control")
    elif under := [name for name in expected if name.startswith("control_")]:
        raise placed.bad(under[0], "it says what holds under the choices of `control`, which are not given as an object")


def require_policy(choices: dict[str, Any], where: str) -> None:
    """Check the choices of a policy.

    Raises:
        BadValue: one is unknown; `where` is named.
    """
    try:
        Policy.from_dict(choices)
    except BadValue as error:
        raise BadValue(what=f"{where}: {error.what}", why=error.why, hint=error.hint) from None


def control_choices(expected: dict[str, Any]) -> dict[str, Any] | None:
    """Return the choices of a case's control, given as an object or as `FIELD=VALUE gives zero gap`; None when there is none, or other words."""
    control: object = expected.get("control")
    if isinstance(control, dict):
        return cast("dict[str, Any]", control)
    sentence = NO_GAP.fullmatch(control) if isinstance(control, str) else None
    return dict([sentence[1].split("=", 1)]) if sentence else None


def _require_row(row: Placed[Checkpoint]) -> None:
    if len(row.data) == 1:
        raise row.missing("matched", f"a checkpoint says something of its request: {', '.join(Checkpoint.__struct_fields__[1:])}")
    if ("wrong_positions" in row) != ("belongs_to_request" in row):
        raise row.missing("belongs_to_request" if "wrong_positions" in row else "wrong_positions", "wrong positions and their owner come together")
    start, end = row.values.wrong_positions
    if "wrong_positions" in row and start >= end:
        raise row.bad("wrong_positions", "it is a range [a, b) of positions, a below b")
