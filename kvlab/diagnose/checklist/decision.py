"""The decision that the checklist ends with: stay on this machine, split the jobs, or move to a node that can be replaced.

Graver reasons come first, whichever recording of the server has them; without the items that a decision needs it is `undecided`, and says which
are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvlab.diagnose.budget_or_leak import BOUNDED
from kvlab.diagnose.findings import Findings

DECISIONS = {
    "stay": "stay on this machine",
    "split": "split the jobs",
    "move": "move to a node that can be replaced",
    "undecided": "not decided yet",
}
"""Every decision in words."""

GROWTH = "budget_or_leak"
GROWS = ("leak", "heap_growth")
OPEN = ("not_enough_data",)
SERIES = ("by_requests", "by_context", "by_concurrency")
"""The three series that tell apart what grows with what."""

NEEDED = ("keep_alive", "read_together", *SERIES, "unload_answered", "old_process_gone", "loaded_again")
"""Items without which nothing says that the machine is safe to stay on."""


def decide(findings: Sequence[Findings], known: Mapping[str, str]) -> tuple[str, str]:
    """Return the decision and its reason, from the findings of every recording of one server."""
    verdicts: dict[str, list[str]] = {}
    for finding in (one for every in findings for one in every):
        verdicts.setdefault(finding.question, []).append(finding.verdict)

    def any_of(question: str, *words: str) -> str:
        return next((verdict for verdict in verdicts.get(question, ()) if verdict in words), "")

    grows = any_of(GROWTH, *GROWS) or ("leak" if any_of("who_holds_it", "leak") else "")
    if grows:
        return "move", f"{grows}: what grows is not given back by any budget; recycle the server by its work until it is found"
    if any_of("what_will_unload_give_back", "process_left_behind"):
        return "move", "an unload leaves the old process behind: only replacing the node gives its bytes back for sure"
    if any_of(GROWTH, "over_budget_by_design"):
        return "split", "one long conversation passes the budget by design: end conversations, or recycle after each"
    if any_of("which_budget", "budget_larger_than_machine") or any_of("will_it_fit", "does_not_fit"):
        return "split", "what the rules allow is more than the machine has: fewer models at once, shorter contexts, or batches with an unload between"
    missing = [name for name in NEEDED if name not in known]
    other = [verdict for verdict in verdicts.get(GROWTH, ()) if verdict not in (*BOUNDED, *OPEN)]
    bounded = any_of(GROWTH, *BOUNDED)
    if bounded and not other and not missing:
        return "stay", f"growth is bounded ({bounded}), and an unload was proved to give its bytes back"
    return "undecided", f"missing: {', '.join(missing)}" if missing else f"{GROWTH} is {', '.join(other) or 'not answered'}"
