"""Question 6: is the answer right after a hit? A restored position is right if the request that wrote it shares all tokens up to there.

Only a verified recording can answer: `kvlab check`, or a run of the twin with `check=True`. Without it an answer that reads well proves nothing; one
that is another task's, by the marks of a contamination test, shows that a wrong state was restored.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import OPEN, Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.recording.facts import Facts
from kvlab.recording.facts.answers import Answers

QUESTION = "is_the_answer_right"
MOST_ROWS = 12
"""Rows of evidence at most."""


def is_the_answer_right(facts: Facts, *, checked: bool | None = None) -> Finding:
    """Answer whether what was restored is what the requests would have computed. `checked` overrides what the recording says of itself."""
    if not (facts.checked if checked is None else checked):
        counts = _wrong_by_setting(facts)
        return counts or (unanswered(QUESTION, "verified_positions", facts) if facts.answers is None else _of_answers(facts, facts.answers))
    wrong = facts.wrong_positions
    restored = facts.requests.select(pl.col("cached").fill_null(0)).to_series()
    requests = wrong.get_column("request").unique().sort().to_list()
    numbers: dict[str, Number] = {
        "requests": facts.requests.height,
        "restored_tokens": int(restored.sum()),
        "wrong_positions": int((wrong.get_column("end") - wrong.get_column("start")).sum()),
        "requests_with_wrong_positions": len(requests),
        "first_wrong_request": requests[0] if requests else None,
        "belongs_to_request": wrong.item(0, "belongs_to") if requests else None,
    }
    marks = facts.answers
    if marks is not None:
        amiss = {*marks.without_own, *(request for request, _, _ in marks.foreign)}
        numbers |= {"answers_with_marks": len(marks.requests), "wrong_answers": len(amiss), "answers_with_another_mark": len(marks.foreign)}
    if not requests and facts.violations.height:
        return _of_broken(facts.violations, numbers)
    if requests:
        first = wrong.row(0, named=True)
        summary = (
            f"Request {first['request']} restored positions [{first['start']}, {first['end']}) of {first['layer'] or 'a layer'} that request "
            f"{first['belongs_to']} had overwritten; {len(requests)} of {numbers['requests']} requests are affected."
        )
        if marks is not None:
            summary += f" {numbers['wrong_answers']} of {len(marks.requests)} answers are not their own task's; {len(marks.foreign)} hold another's mark."
    else:
        summary = f"All {numbers['restored_tokens']} restored tokens were written by requests that share every token up to there."
    return Finding(
        question=QUESTION,
        verdict="wrong_state_restored" if requests else "identical",
        summary=summary,
        numbers=numbers,
        confidence="low" if facts.damaged else "high",
        evidence=(Evidence("events", tuple(wrong.head(MOST_ROWS).to_dicts())),),
        refuted_by="the same requests with copy_before_overwrite=every_append still restoring those positions wrong"
        if requests
        else "a restored position whose contents another request wrote",
    )


def _of_broken(broken: pl.DataFrame, numbers: dict[str, Number]) -> Finding:
    """No restored position is wrong, and yet a rule was broken: what a later request restores may be."""
    rules: list[str] = broken["rule"].unique().sort().to_list()
    first = broken.row(0, named=True)
    return Finding(
        question=QUESTION,
        verdict=OPEN,
        summary=f"No request restored a wrong position, but {broken.height} times a rule was broken ({', '.join(rules)}), first in request {first['request']}: "
        f"{first['message']}. What a later request restores there may be wrong: send one that continues a stored prompt or a reply.",
        numbers={**numbers, "broken_rules": broken.height},
        confidence="low",
        evidence=(Evidence("events", tuple(broken.select("seq", "request", "rule", "message").head(MOST_ROWS).to_dicts())),),
        refuted_by="the same requests again, every rule unbroken",
    )


def _of_answers(facts: Facts, answers: Answers) -> Finding:
    count, wrong, lacks = len(answers.requests), answers.foreign, len(answers.without_own)
    if not wrong:
        if not lacks:
            return unanswered(QUESTION, "verified_positions", facts, f"Restored positions were not verified; all {count} answers hold their mark.")
        words = f"{lacks} of {count} answers lack their own task's mark; whose answers they are was not recorded."
        return unanswered(QUESTION, "verified_positions", facts, words)
    request, own, other = wrong[0]
    whose = f"is that of task {other}, not of its own {own}" if other else "holds the mark of another task"
    numbers: dict[str, Number] = {
        "answers_with_marks": count,
        "wrong_answers": len(wrong),
        "answers_without_own_mark": lacks,
        "first_wrong_request": request,
    }
    rows = tuple({"request": one, "task": mine, "answer_of": theirs or None} for one, mine, theirs in wrong[:MOST_ROWS])
    return Finding(
        question=QUESTION,
        verdict="wrong_state_restored",
        summary=f"{len(wrong)} of {count} answers are another task's: the answer to request {request} {whose}. No position was verified: kvlab check does.",
        numbers=numbers,
        confidence="medium",
        evidence=(Evidence("observed", rows),),
        refuted_by=_FRESH,
    )


def _wrong_by_setting(facts: Facts) -> Finding | None:
    """Return the answer of a table that counts wrong answers by version and context; None without one."""
    rows = facts.observed.filter(pl.col("gauge").is_in(["wrong", "calls", "num_ctx", "version"]))
    table: list[dict[str, float | str]] = [{}]
    for gauge, number, words in rows.select("gauge", "number", "words").iter_rows():
        # a gauge that comes again begins the next row
        if gauge in table[-1]:
            table.append({})
        table[-1][gauge] = words if number is None else number
    counted = [row for row in table if isinstance(row.get("wrong"), float)]
    if not counted:
        return None
    bad = [row for row in counted if row["wrong"]]
    every = sum(float(row.get("calls") or 0) for row in counted)
    total = sum(float(row["wrong"]) for row in counted)
    numbers: dict[str, Number] = {"settings": len(counted), "settings_with_wrong_answers": len(bad), "wrong_answers": round(total), "answers": round(every)}
    evidence = Evidence("observed", tuple(counted[:MOST_ROWS]))
    if not bad:
        return unanswered(QUESTION, "verified_positions", facts, f"None of {every:.0f} answers was counted as wrong.").with_figures(numbers, evidence)
    versions = {str(row.get("version", "")) for row in bad}
    clean = sorted({str(row.get("version", "")) for row in counted} - versions - {""})
    where = ", ".join(_setting(row) for row in bad)
    words = f"{total:.0f} of {every:.0f} answers were counted as wrong: {where}" + (f"; none under {', '.join(clean)}" if clean else "") + "."
    return Finding(QUESTION, "wrong_state_restored", f"{words} No position was verified: kvlab check does.", numbers, "medium", (evidence,), _FRESH)


def _setting(row: dict[str, float | str]) -> str:
    of = [f"under {row['version']}"] if row.get("version") else []
    of += [f"at a context of {row['num_ctx']:,.0f}"] if isinstance(row.get("num_ctx"), float) else []
    calls = f" of {row['calls']:.0f}" if isinstance(row.get("calls"), float) else ""
    return f"{row['wrong']:.0f}{calls}{' ' if of else ''}{' '.join(of)}"


_FRESH = "the same answers to the same prompts from a server that was just started, one after another"
