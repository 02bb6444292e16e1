"""The verdict on bytes beside a twin when no version of the server is told: every known set of rules is tried.

Releases differ in what they let grow, so growth that one release's rules forbid may be another's lawful one. It is called a leak only when
no known rules explain it, and never surely, as the server may follow rules that are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvlab.diagnose.finding import Finding
from kvlab.diagnose.known import RELEASES
from kvlab.diagnose.outside.judged import judged
from kvlab.diagnose.outside.series_seen import Seen
from kvlab.lab.twin import lawful
from kvlab.policy import Policy
from kvlab.shape import Shape

NAME_IT = "name it: --policy VERSION, as `ollama --version` prints it"


def judged_by_known_rules(seen: Seen, shape: Shape) -> Finding:
    """Answer under the newest rules that explain what was seen; `leak` only when none do."""
    found: list[Finding] = []
    for version, policy in _newest_first():
        finding = judged(seen, shape, policy)
        if finding.verdict != "leak" and not finding.is_open:
            return _less_sure(finding, version)
        found.append(finding)
    first = found[0]
    undecided = next((finding for finding in found if finding.is_open), None)
    if undecided is not None:
        return replace(undecided, summary=f"{undecided.summary} The server's version is not told: {NAME_IT}.")
    return replace(
        first,
        summary=f"{first.summary} The server's version is not told, and no rules of a known release ({RELEASES[-1]} and later) explain it; {NAME_IT}.",
        confidence="medium" if first.confidence == "high" else first.confidence,
    )


def _newest_first() -> Iterator[tuple[str, Policy]]:
    tried: list[Policy] = []
    for version in RELEASES:
        policy = lawful(Policy.ollama(version))
        if policy not in tried:
            tried.append(policy)
            yield version, policy


def _less_sure(finding: Finding, version: str) -> Finding:
    rules = "upstream main" if version == "main" else f"Ollama {version}"
    return replace(
        finding,
        summary=f"{finding.summary} The server's version is not told; the rules of {rules} fit ({NAME_IT}).",
        numbers=finding.numbers | {"version_that_fits": version},
        confidence="medium" if finding.confidence == "high" else finding.confidence,
    )
