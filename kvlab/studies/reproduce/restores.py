"""#18267: after a cold prompt a follow-up is restored from the grid of captures; three lines of a log of v0.33.3."""

from __future__ import annotations

from kvlab.policy import Policy
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.models import hybrid27
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made
from kvlab.studies.reproduce.run import run


def make(published: Published) -> Made:
    """Run each follow-up: its whole length and what matches are the report's, `cached` and `left` are found."""
    figures: dict[str, float | None] = {}
    for total in dict.fromkeys(one.id.split("_")[0] for one in published.figures):
        matched = round(published.value(f"{total}_matched"))
        row = run(hybrid27(), scenes.follow_up(matched, int(total)), Policy.ollama("0.33.0")).requests.row(1, named=True)
        figures |= {f"{total}_{name}": row[name] for name in ("matched", "cached", "left")}
    return Made(figures)
