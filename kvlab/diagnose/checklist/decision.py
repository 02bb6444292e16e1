"""The decision that the checklist ends with: stay on this machine, split the jobs, or move to a node that can be replaced.

Graver reasons come first; without the items that a decision stands on it is `undecided`, and says which are missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvlab.diagnose.budget_or_leak import BOUNDED
from kvlab.diagnose.findings import Findings

DECISIONS = {
    "stay": "stay on this machine",
    "split": "split the jobs",
    "move": "move to a node that can be replaced",
    "undecided": "not decided yet",
}
"""Every decision in words."""

GROWS = ("leak", "heap_growth")
NEEDED = ("keep_alive", "read_together", "by_requests", "unload_answered", "old_process_gone", "loaded_again")
"""Items without which nothing says that the machine is safe to stay on."""


def decide(findings: Findings, known: Mapping[str, str]) -> tuple[str, str]:
    """Return the decision and its reason."""
    verdicts = {finding.question: finding.verdict for finding in findings}
    growth, unload = verdicts.get("budget_or_leak", ""), verdicts.get("what_will_unload_give_back", "")
    if growth in GROWS:
        return "move", f"{growth}: what grows is not given back by any budget; recycle the server by its work until it is found"
    if unload == "process_left_behind":
        return "move", "an unload leaves the old process behind: only replacing the node gives its bytes back for sure"
    if growth == "over_budget_by_design":
        return "split", "one long conversation passes the budget by design: end conversations, or recycle after each"
    if verdicts.get("which_budget") == "budget_larger_than_machine" or verdicts.get("will_it_fit") == "does_not_fit":
        return "split", "what the rules allow is more than the machine has: fewer models at once, shorter contexts, or batches with an unload between"
    missing = [name for name in NEEDED if name not in known]
    if growth in BOUNDED and not missing:
        return "stay", f"growth is bounded ({growth}), and an unload was proved to give its bytes back"
    lacks = f"missing: {', '.join(missing)}" if missing else f"budget_or_leak is {growth or 'not asked'}"
    return "undecided", lacks
