"""The catalogue: every entry, by id, and the words by which a user finds one."""

from __future__ import annotations

import re

from kvlab.errors import BadValue
from kvlab.studies.faults.fault import Fault
from kvlab.studies.faults.table_content import CONTENT
from kvlab.studies.faults.table_growth import GROWTH
from kvlab.studies.faults.table_lifecycle import LIFE, MLX_LM

CATALOGUE: dict[str, Fault] = {fault.id: fault for fault in (*GROWTH, *CONTENT, *LIFE, *MLX_LM)}
"""Every entry by its id, as they are listed."""


def find(text: str) -> Fault:
    """Return the entry that `text` names: its id (`F-14`, `f14`), or words of its name that no other has (`lazy snapshot`).

    Raises:
        BadValue: no entry has it, or several have.
    """
    asked = _plain(text)
    for fault in CATALOGUE.values():
        if asked in (_plain(fault.id), _plain(fault.name)):
            return fault
    near = [fault for fault in CATALOGUE.values() if asked and asked in _plain(fault.name)]
    if len(near) == 1:
        return near[0]
    raise BadValue(
        what=f"{text!r} names {'no entry' if not near else f'{len(near)} entries'} of the catalogue",
        why="an entry is named by its id, or by words of its name that no other has"
        + (f": {', '.join(f'{one.id} ({one.name})' for one in near)}" if near else ""),
        hint="kvlab faults lists them all",
    )


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
