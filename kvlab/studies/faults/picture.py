"""Both arms as one picture: the bytes of the two recordings, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvlab.recording import Recording

WIDTH = 400
"""Of each chart, in pixels."""


def side_by_side(named: list[tuple[str, Recording]]) -> bytes:
    """Return a PNG of the recordings' bytes by owner, each under its name."""
    import altair as alt

    from kvlab.views import static
    from kvlab.views.bytes_chart import bytes_chart, chart_table
    from kvlab.views.tables import readings

    charts: list[Any] = [bytes_chart(recording).properties(width=WIDTH, title=f"{name} arm: bytes by owner") for name, recording in named]
    units = {chart_table(readings(recording))[1] for _, recording in named}
    # one axis for both, unless the larger arm is told in another unit
    both: Any = alt.hconcat(*charts, spacing=24)
    both = both.resolve_scale(y="shared" if len(units) == 1 else "independent")
    return static.png(both, scale=1)
