"""Question 6: is the answer right after a hit? A restored position is right if the request that wrote it shares all tokens up to there.

Only a verified recording can answer: `kvlab check`, or a run of the twin with `check=True`. Without it an answer that reads well proves nothing; one
that is another task's, by the marks of a contamination test, shows that a wrong state was restored.

On real arrays, restored contents are compared with those of a cold run on the same tokens and chunk edges: a table made where models run
(`kvlab.lab.answer_check`), which `is_the_answer_right_cold` reads. `numeric` means that last bits differ, as other chunk edges make them: a text may
then differ where two tokens were nearly as likely. A wrong state differs by far more.
"""

from __future__ import annotations

import polars as pl

from kvlab.findings.finding import OPEN, Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.recording.facts.answers import Answers

Q = Question("is_the_answer_right")

MOST_ROWS = 12
"""Rows of evidence at most."""


def is_the_answer_right(facts: Facts, *, checked: bool | None = None) -> Finding:
    """Answer whether what was restored is what the requests would have computed. `checked` overrides what the recording says of itself."""
    marks = facts.answers
    if not (facts.checked if checked is None else checked):
        return _wrong_by_setting(facts) or (Q.open("verified_positions", facts) if marks is None else _of_answers(facts, marks))
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
    if marks is not None:
        amiss = {*marks.without_own, *(request for request, _, _ in marks.foreign)}
        numbers |= {"answers_with_marks": len(marks.requests), "wrong_answers": len(amiss), "answers_with_another_mark": len(marks.foreign)}
    if not requests and facts.violations.height:
        return _of_broken(facts.violations, numbers)
    words = Q.say("identical", numbers)
    if requests:
        first = wrong.row(0, named=True)
        words = Q.say("wrong", numbers | first | {"layer": first["layer"] or "a layer"}) + (Q.say("wrong_marks", numbers) if marks is not None else "")
    evidence = Evidence("events", tuple(wrong.head(MOST_ROWS).to_dicts()))
    return Q.found("wrong_state_restored" if requests else "identical", words, numbers, "low" if facts.damaged else "high", evidence)


def _of_broken(broken: pl.DataFrame, numbers: dict[str, Number]) -> Finding:
    """No restored position is wrong, and yet a rule was broken: what a later request restores may be."""
    numbers = {**numbers, "broken_rules": broken.height}
    words = Q.say("broken", broken.row(0, named=True) | numbers, rules=", ".join(broken["rule"].unique().sort()))
    evidence = Evidence("events", tuple(broken.select("seq", "request", "rule", "message").head(MOST_ROWS).to_dicts()))
    return Q.found(OPEN, words, numbers, "low", evidence, refuted_by="broken")


def _of_answers(facts: Facts, answers: Answers) -> Finding:
    wrong = answers.foreign
    numbers: dict[str, Number] = {
        "answers_with_marks": len(answers.requests),
        "wrong_answers": len(wrong),
        "answers_without_own_mark": len(answers.without_own),
        "first_wrong_request": wrong[0][0] if wrong else None,
    }
    if not wrong:
        return Q.open("verified_positions", facts, Q.say("some_without" if answers.without_own else "all_own", numbers))
    _, own, other = wrong[0]
    rows = tuple({"request": one, "task": mine, "answer_of": theirs or None} for one, mine, theirs in wrong[:MOST_ROWS])
    words = Q.say("another_task", numbers, whose=Q.say("whose" if other else "whose_mark", own=own, other=other))
    return Q.found("wrong_state_restored", words, numbers, "medium", Evidence("observed", rows), refuted_by="fresh")


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
        return Q.open("verified_positions", facts, Q.say("none_counted", numbers)).with_figures(numbers, evidence)
    versions = {str(row.get("version", "")) for row in bad}
    clean = sorted({str(row.get("version", "")) for row in counted} - versions - {""})
    words = Q.say("counted", numbers, where=", ".join(map(_setting, bad)), clean=f"; none under {', '.join(clean)}" if clean else "")
    return Q.found("wrong_state_restored", words, numbers, "medium", evidence, refuted_by="fresh")


def _setting(row: dict[str, float | str]) -> str:
    of = [f"under {row['version']}"] if row.get("version") else []
    of += [f"at a context of {row['num_ctx']:,.0f}"] if isinstance(row.get("num_ctx"), float) else []
    calls = f" of {row['calls']:.0f}" if isinstance(row.get("calls"), float) else ""
    return f"{row['wrong']:.0f}{calls}{' ' if of else ''}{' '.join(of)}"


def is_the_answer_right_cold(compared: pl.DataFrame) -> Finding:
    """Answer from a comparison with cold runs.

    Args:
        compared: A row for each stretch of restored positions: `request`, `layer`, `state` (identical, numeric or wrong), `start`, `end`,
            `belongs_to` (the request whose tokens are there), `difference` (a share of the layer's largest number), `same_reply`.
    """
    if compared.is_empty():
        return Q.open("verified_positions", None, Q.say("cold_none"), Q.say("cold_record"))
    wrong = compared.filter(pl.col("state") == "wrong").sort("request", "group", "start")
    numeric = compared.filter(pl.col("state") == "numeric")
    replies = compared.filter(pl.col("same_reply").is_not_null()).unique("request")
    requests = wrong["request"].unique().sort().to_list()
    verdict = "wrong_state_restored" if requests else "numeric" if numeric.height else "identical"
    numbers: dict[str, Number] = {
        "requests_compared": compared["request"].n_unique(),
        "requests_with_wrong_positions": len(requests),
        "wrong_positions": int((wrong["end"] - wrong["start"]).sum()),
        "first_wrong_request": requests[0] if requests else None,
        "belongs_to_request": wrong.item(0, "belongs_to") if requests else None,
        "largest_difference_share": largest(compared["difference"]),
        "replies_compared": replies.height,
        "replies_that_differ": int((~replies["same_reply"]).sum()) if replies.height else 0,
    }
    first = wrong.row(0, named=True) if requests else {}
    replies, numeric_share = Q.say("cold_replies", numbers), largest(numeric["difference"])
    words = Q.say(f"cold_{verdict}", first | numbers, numeric=numeric_share, replies=replies)
    shown = wrong if requests else numeric if numeric.height else compared
    return Q.found(verdict, words, numbers, "high", Evidence("compared", tuple(shown.head(MOST_ROWS).to_dicts())), refuted_by=f"cold_{verdict}")
