"""#17924: a fixed gain per request until the budget is full (qwen3.6:35b, v0.32.15)."""

from __future__ import annotations

from kvlab.policy import Policy
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.models import hybrid35
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Aside, Made
from kvlab.studies.reproduce.run import run, sizes
from kvlab.units import GIB

REQUESTS = 1850
"""60 to the plateau and the 1,790 after it."""

AT = (10, 20, 30)


def make(published: Published) -> Made:
    """Run all 1,850 requests."""
    after = [one / GIB for one in sizes(run(hybrid35(), scenes.short_prompts(REQUESTS), Policy.ollama("0.32.15")))]
    full = next(place for place, size in enumerate(after, 1) if size > max(after) - 0.1)
    rate = (after[29] - after[9]) / 20
    later = sum(after[-60:]) / 60 - sum(after[60:120]) / 60
    figures = {"rate_16384": rate, "rate_4096": rate, "plateau": max(after), "full_after": full, "gained_later": later}
    figures |= {f"after_{count}": after[count - 1] for count in AT}
    rows = tuple((count, f"{published.value(f'after_{count}'):.1f}", f"{after[count - 1] - published.value(f'after_{count}'):+.2f}") for count in AT)
    title = f"residuals of one fitted length: prompts of {scenes.SHORT_PROMPT:,} tokens, GiB"
    return Made(figures, (Aside(title, ("after requests", "published", "ours - published"), rows),))
