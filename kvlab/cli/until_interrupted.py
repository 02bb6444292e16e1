"""A run that may be interrupted: Ctrl-C ends it, and what was recorded until then is printed like any other, also when nothing is kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress

from kvlab.errors import KvlabError
from kvlab.recording import Recording, load
from kvlab.recording.place import recorded_in
from kvlab.temporary import TemporaryFolder


def until_interrupted(run: Callable[[str], Recording], out: str | None, print_it: Callable[[Recording], object]) -> Recording:
    """Return what `run` records into the folder that it is given: `out`, else one that is removed when it has ended.

    Raises:
        KeyboardInterrupt: it was interrupted; `print_it` has printed what was recorded until then.
    """
    with TemporaryFolder() if out is None else nullcontext() as folder:
        try:
            return run(str(folder / "run.kvrec") if folder else str(out))
        except KeyboardInterrupt as stopped:
            if place := recorded_in(stopped):
                with suppress(KvlabError):
                    print_it(load(place))
            raise
