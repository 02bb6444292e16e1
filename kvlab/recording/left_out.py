"""What a reader has to know of a recording's figures: which events it leaves out, and which constants of its shape were fitted.

A long run of the twin that nobody reads event by event leaves out what its tables do not need (`LEFT_OUT`). Its manifest names them, and what would have
to be folded from them is null.
"""

from __future__ import annotations

from kvlab.recording.manifest import Manifest

TOKENS, MOVES, READINGS = "tokens_but_the_last", "snapshot_allocations", "prefill_readings"

LEFT_OUT = {
    TOKENS: "tokens of a reply but the last (token_out)",
    MOVES: "allocations and frees of snapshots (allocated, freed)",
    READINGS: "readings of bytes during prefill (bytes_read)",
}
"""What a recording may leave out, by its name in the manifest, in words."""

FITTED = "fitted"
"""The key of `Manifest.origin` that names the fitted constants of the shape."""


def notes(manifest: Manifest) -> list[tuple[str, str]]:
    """Return what to know of a recording's figures as (name, words); empty when it stores every event and no constant was fitted."""
    found: list[tuple[str, str]] = []
    if manifest.left_out:
        words = ", ".join(LEFT_OUT.get(name, name) for name in manifest.left_out)
        found.append(("left out", f"{words}; what follows from them is null. `--store-text` (in Python `store_text=True`) keeps them"))
    if fitted := manifest.origin.get(FITTED):
        found.append((FITTED, f"{fitted} of the shape were chosen so that published figures come out, which the card of the twin names"))
    return found
