"""What `kvlab faults NAME` runs: every demonstration of an entry, on the twin and on real arrays; `C` is experiment C1 in full."""

from __future__ import annotations

from collections.abc import Callable

from kvlab.errors import NotAvailable
from kvlab.studies.faults import contamination, on_answers, on_mlx_lm
from kvlab.studies.faults.arms import Shown
from kvlab.studies.faults.catalogue import find
from kvlab.studies.faults.trigger import ARRAYS, TWIN

EXPERIMENT_C, MODEL_OF_C = "C", "smollm2"
_VERSIONS = (contamination.FAULT_VERSION, contamination.CURED_VERSION)

_LOOK = "16 tasks with a shared beginning, the same in 3 rounds: who gets whose answer"

_OWN: dict[str, Callable[[], Shown]] = {**on_answers.SHOWS, **on_mlx_lm.SHOWS}


def show(name: str, *, arrays: bool = True) -> tuple[Shown, ...]:
    """Run both arms of an entry wherever it can be seen.

    Args:
        name: Its id or words of its name; `C` for the whole experiment behind F-14, which takes minutes on arrays.
        arrays: Run it on real arrays too, where that is possible.

    Raises:
        BadValue: no entry has that name.
        NotAvailable: nothing here shows it; the reason says why.
    """
    if name.strip().upper() == EXPERIMENT_C:
        return (_c_on_twin(), _c_on_model()) if arrays else (_c_on_twin(),)
    fault = find(name)
    shows: list[Callable[[], Shown]] = [TWIN[fault.id].run] if fault.id in TWIN else []
    if arrays:
        shows += [ARRAYS[fault.id].run] if fault.id in ARRAYS else []
        shows += [_OWN[fault.id]] if fault.id in _OWN else []
    if not shows:
        raise NotAvailable(
            what=f"{fault.id} ({fault.name}) cannot be run",
            why=fault.reason or "it shows on real arrays only",
            hint="kvlab faults lists what can: those whose status is switch, and a few more",
        )
    return tuple(one() for one in shows)


def can_be_shown(fault_id: str) -> bool:
    """Whether something here shows an entry."""
    return fault_id in TWIN or fault_id in ARRAYS or fault_id in _OWN


def _c_on_twin() -> Shown:
    """Run both arms of C1 on span counts: which requests restored positions that another one wrote."""
    runs = [contamination.on_twin(version) for version in _VERSIONS]
    return Shown.of("F-14", "the twin", _LOOK, [(made.policy, contamination.counts(made), made) for made in runs])


def _c_on_model() -> Shown:
    """Run both arms on a real model, which takes minutes: the same, and which answers hold another task's word or number."""
    from kvlab.lab.lab import open_lab

    lab = open_lab(MODEL_OF_C)
    runs = [contamination.run(lab, version) for version in _VERSIONS]
    return Shown.of("F-14", f"{MODEL_OF_C}'s arrays", _LOOK, [(made.policy, made.figures(), made.recording) for made in runs])
