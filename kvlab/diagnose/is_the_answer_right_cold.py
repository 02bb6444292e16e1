"""Question 6 on real arrays: is the answer right after a hit? Restored contents compared with those of a cold run on the same tokens and chunk edges.

The comparison is a table made where models run (`kvlab.lab.answer_check`); this reads it. `numeric` means that last bits differ, as other
chunk edges make them: a text may then differ where two tokens were nearly as likely. A wrong state differs by far more.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.is_the_answer_right import MOST_ROWS, QUESTION


def is_the_answer_right_cold(compared: pl.DataFrame) -> Finding:
    """Answer from a comparison with cold runs.

    Args:
        compared: A row for each stretch of restored positions: `request`, `layer`, `state` (identical, numeric or wrong), `start`, `end`,
            `belongs_to` (the request whose tokens are there), `difference` (a share of the layer's largest number), `same_reply`.
    """
    if compared.is_empty():
        return not_enough_data(QUESTION, "No request restored anything.", "Run requests that share a beginning.")
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
        "largest_difference_share": _largest(compared),
        "replies_compared": replies.height,
        "replies_that_differ": int((~replies["same_reply"]).sum()) if replies.height else 0,
    }
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=_summary(verdict, wrong, numeric, numbers),
        numbers=numbers,
        confidence="high",
        evidence=(Evidence("compared", tuple((wrong if requests else numeric if numeric.height else compared).head(MOST_ROWS).to_dicts())),),
        refuted_by="the same requests restoring those positions as a cold run computes them"
        if requests
        else "a restored position that differs from a cold run by more than last bits",
    )


def _largest(compared: pl.DataFrame) -> float:
    values: list[float] = compared["difference"].to_list()
    return max(values)


def _summary(verdict: str, wrong: pl.DataFrame, numeric: pl.DataFrame, numbers: dict[str, Number]) -> str:
    replies = f"{numbers['replies_that_differ']} of {numbers['replies_compared']} replies differ from the cold ones."
    if verdict == "wrong_state_restored":
        first = wrong.row(0, named=True)
        return (
            f"Request {first['request']} restored positions [{first['start']}, {first['end']}) of {first['layer']} layers that differ from a cold run by "
            f"{first['difference']:.3g} of the largest number; what is there was written by request {first['belongs_to']}. "
            f"{numbers['requests_with_wrong_positions']} of {numbers['requests_compared']} requests are affected. {replies}"
        )
    if verdict == "numeric":
        return (
            f"Restored contents differ from cold ones in their last bits only (at most {_largest(numeric):.1e} of the largest number), as other chunk "
            f"edges make them; a text may differ where two tokens were nearly as likely. {replies}"
        )
    return f"The restored contents of all {numbers['requests_compared']} requests are those of a cold run, bit for bit. {replies}"
