"""Cases: small workloads with a known outcome, one JSON file each. `case(path)` reads one whole or says what is wrong where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Meta, field

from kvlab.errors import UnreadableInput
from kvlab.typed_json import Placed, Text
from kvlab.workloads.case_expected import require_expected, require_policy
from kvlab.workloads.case_layers import CaseModel, shape_of
from kvlab.workloads.case_rows import requests_of
from kvlab.workloads.workload import Workload


class _Case(CaseModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Text = ""
    question: Text = ""
    inspired_by: Any = None
    fault: Any = None
    note: Any = None
    policy: dict[str, Any] = field(default_factory=dict[str, Any])
    workload: Annotated[list[Any], Meta(min_length=1)]
    expected: dict[str, Any] = field(default_factory=dict[str, Any])


def case(path: str | Path, scale: float = 1.0) -> Workload:
    """Read a case file; its counts of tokens are taken times `scale`.

    Raises:
        UnreadableInput: the file is not there or is not JSON.
        BadValue: a key is unknown or a value cannot be used; the error names the file, the key and the value.

    Example:
        >>> import json, kvlab
        >>> from pathlib import Path
        >>> _ = Path("mine.json").write_text(json.dumps({"layers": ["kv"], "workload": [{"tokens": [1, 2, 3], "repeat": 2}]}))
        >>> len(kvlab.workloads.case("mine.json"))
        2
    """
    path = Path(path)
    placed = Placed(str(path), _read(path), _Case)
    given = placed.values
    require_policy(given.policy, f"{path}, policy")
    requests = requests_of(str(path), given.workload, scale)
    name = given.id or path.stem
    require_expected(given.expected, f"{path}, expected")
    shape = None if given.layers is UNSET else shape_of(placed, name)
    return Workload(name, requests, given.policy, shape, given.question, given.expected)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableInput(
            what=f"the case {path} cannot be read",
            why=error.strerror or str(error),
            hint="check the path; named workloads such as unrelated:15 need no file",
        ) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(what=f"the case {path} is not JSON", why=str(error), hint="correct the file at that place") from None
