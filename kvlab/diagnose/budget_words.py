"""The sentences of `budget_or_leak`: what each verdict says of its figures. Nothing here decides one."""

from __future__ import annotations

from dataclasses import replace

from kvlab.diagnose.explained import Explained
from kvlab.diagnose.finding import Finding, Number, not_enough_data
from kvlab.diagnose.lone_series import LoneSeries
from kvlab.diagnose.missing import how_to_record, unanswered
from kvlab.diagnose.plateau import LEVEL
from kvlab.diagnose.rounding import growth_words
from kvlab.policy import Policy
from kvlab.recording.facts import Facts, Series, Values
from kvlab.recording.facts.figures import OF_PROCESS, as_printed
from kvlab.shape import Shape
from kvlab.units import binary

QUESTION = "budget_or_leak"

MOST_SHOWN = 1_000_000
"""Requests until the budget is full; more are not shown as a number."""

COUNTED = ("counted_bytes", "largest_counted_bytes", "over_budget_bytes")
"""Figures that the cache itself counts: where they were read, a simulation's do not take their place."""

NAME_IT = "name it: --policy VERSION, as `ollama --version` prints it"
LONGER = "a longer series of the same requests whose unexplained bytes stay where they are, or a prompt whose match was with something else"


def of_owners(verdict: str, numbers: dict[str, Number], name: str) -> str:
    """Return the sentence on the cache's own owners; `name` says whose bytes a leak is of: unexplained, pinned or unattributed."""
    n = _printed(numbers)
    if verdict == "leak":
        names = ("unexplained_bytes", "unexplained_beyond_rounding_bytes", "unexplained_slope_bytes_per_request", "requests")
        total, beyond, slope, requests = (float(str(numbers[one])) for one in names)
        more = "more than the cache holds after the same requests by its rules" if name == "unexplained" else "no rule of the cache holds them"
        return f"{growth_words(name.capitalize(), total, beyond, slope, round(requests))}: {more}."
    rest = _unexplained(numbers)
    if verdict in ("over_budget_by_design", "unexplained"):
        goes = "grows" if numbers["growth_above_budget_bytes_per_request"] else "stays"
        above = f"The budget counts {n['counted_bytes']}, {n['over_budget_bytes']} above the {n['budget_bytes']} it allows, and this {goes}: "
        if verdict == "unexplained":
            return f"{above}the rules of its policy would have evicted it. {rest}"
        return f"{above}the policy protects what it would have to evict, as rules do that exempt the active path. {rest}"
    plateau = f"Plateau predicted as weights + live + budget: {n['predicted_plateau_bytes']}"
    if verdict == "budget":
        high, low = n["observed_plateau_bytes"], n["observed_plateau_low_bytes"]
        return (
            f"Growth of {n['growth_bytes_per_request']} per request stops at the budget of {n['budget_bytes']}, full at request "
            f"{numbers['plateau_reached_at_request']}. {plateau}; observed: {high if high == low else f'{low} to {high}'}. {rest}"
        )
    most, full = f"At most {numbers.get('most_entries')} entries are kept", numbers.get("entries_full_at_request")
    if verdict == "budget_filling":
        until = until_full(numbers["requests_until_full"], int(str(numbers["last_request"])))
        if "most_entries" in numbers:
            until = f"{most}, {'which may stop it before' if full is None else f'as many as since request {full}, and they get larger'}. "
        return (
            f"Counted bytes grow by {n['growth_bytes_per_request']} per request towards the budget of {n['budget_bytes']}; {n['counted_bytes']} are counted. "
            f"{until}{plateau}. {rest}"
        )
    growth = numbers["live_growth_bytes"]
    live = f"Live buffers grew by {n['live_growth_bytes']}, as the longest request needs. " if isinstance(growth, int) and growth > 0 else ""
    limit = f"{most}, and that is what evicts since request {full}, not the budget of {n['budget_bytes']}. " if full is not None else ""
    return f"{limit}After {numbers['requests']} requests {n['counted_bytes']} are counted and no longer grow. {live}{rest}"


def _unexplained(numbers: dict[str, Number]) -> str:
    value = numbers["unexplained_slope_bytes_per_request"]
    if not isinstance(value, int | float):
        return "No twin was recorded with it, so a leak below that cannot be excluded."
    if value <= 0:
        return "Unexplained bytes do not grow."
    return f"Unexplained beyond the allocator's rounding: {binary(value)} per request."


def until_full(left: Number, last: int) -> str:
    """Return in words at which request a budget will be full, `left` requests after request `last`; "" when that is not known."""
    if not isinstance(left, int):
        return ""
    if left > MOST_SHOWN:
        return f"It is not full within {MOST_SHOWN:,} more such requests. "
    return f"It is full at about request {last + left:,}, {left:,} such request{'' if left == 1 else 's'} from now. "


def of_counted(verdict: str, numbers: dict[str, Number], *, assumed: bool) -> str:
    """Return the sentence on counted bytes alone."""
    n, arm = _printed(numbers), str(numbers["arm"])
    goes = "and this grows" if numbers["growth_above_budget_bytes_per_request"] else "and stays there"
    above = f"the cache counts {n['counted_bytes']}, {n['over_budget_bytes']} above its budget of {n['budget_bytes']}, {goes}"
    full = f" It has been full since request {numbers['plateau_reached_at_request']}." if numbers["plateau_reached_at_request"] is not None else ""
    said = {
        "over_budget_by_design": (
            f"{above}. Rules that exempt the active path from eviction (protect=active_path, Ollama up to 0.34) do that in one long conversation: every turn "
            "stores whole states that nothing may evict."
        ),
        "unexplained": (
            f"{above}: no rules that are known explain that. Name the server's release (--policy) and the model's config.json (--shape), and a simulation of "
            "the same requests says what they hold."
        ),
        "budget": f"what the cache counts stops at the budget: {n['counted_bytes']} of {n['budget_bytes']}.{full}",
        "budget_filling": (
            f"the cache counts {n['counted_bytes']} of a budget of {n['budget_bytes']}, {n['growth_bytes_per_request']} more per request. "
            f"{until_full(numbers['requests_until_full'], int(str(numbers['last_request'])))}"
        ),
        "no_growth": f"the cache counts {n['counted_bytes']} and that no longer grows.",
    }[verdict].rstrip()
    budget = " The budget is Ollama's 8 GiB, which is assumed: its version was not recorded." if assumed else ""
    return f"{f'{arm.capitalize()}: ' if arm else ''}{said if arm else said[0].upper() + said[1:]}{budget} Bytes that it does not count were not read."


def of_leak(series: Series, found: Explained) -> str:
    """Return the sentence on a leak that a simulation shows."""
    rate = binary(round(found.slope.value))
    return f"Observed bytes ({series.gauge}) grow by {rate} per request beyond what the cache holds after the same requests by its rules."


def as_simulated(series: Series, found: Explained, of_rules: Finding, *, coarse: bool) -> str:
    """Return the sentence on bytes that a simulation explains."""
    first, last = (as_printed(float(series.observed[at]), series.step) for at in (0, -1))
    hides = binary(round(found.at_most))
    hidden = f" Prints {binary(series.step)} apart may hide a leak of up to {hides} per request: read bytes (/api/ps)." if coarse else ""
    simulated = of_rules.summary.replace("; observed: ", "; its requests close at: ")
    return f"Observed bytes ({series.gauge}) went from {first} to {last}, as the simulation of the same requests does. Simulated: {simulated}{hidden}"


def undecided(series: Series, found: Explained) -> Finding:
    """Return the answer when growth and noise cannot be told apart, or a process's leak and its heap."""
    cause = "a leak and the process's own heap" if series.gauge in OF_PROCESS and found.at_least > 0 else "growth and noise"
    lacks = (
        f"Unexplained bytes change by {binary(round(found.slope.value))} per request, between {binary(round(found.slope.low))} and "
        f"{binary(round(found.slope.high))}: {cause} cannot be told apart after {len(series)} requests."
    )
    return not_enough_data(QUESTION, lacks, "Record more requests, in bytes (/api/ps).", ("longer",))


def too_little(missing: str, lacks: str) -> Finding:
    """Return the answer when a series cannot be compared."""
    return not_enough_data(QUESTION, lacks, "", (missing,))


def less_sure(finding: Finding, version: str) -> Finding:
    """Return a verdict under rules that fit, of a server whose version is not known."""
    rules = "upstream main" if version == "main" else f"Ollama {version}"
    return replace(
        finding,
        summary=f"{finding.summary} The server's version was not recorded; the rules of {rules} fit ({NAME_IT}).",
        numbers=finding.numbers | {"version_that_fits": version},
        confidence="medium" if finding.confidence == "high" else finding.confidence,
    )


def by_no_rules(found: list[Finding], oldest: str) -> Finding:
    """Return the answer when no release's rules explain what was read: open where one of them leaves it open, else the newest one's leak."""
    still_open = next((finding for finding in found if finding.is_open), None)
    if still_open is not None:
        return replace(still_open, summary=f"{still_open.summary} The server's version was not recorded: {NAME_IT}.")
    first = found[0]
    return replace(
        first,
        summary=f"{first.summary} The server's version was not recorded, and no rules of a known release ({oldest} and later) explain it; {NAME_IT}.",
        confidence="medium" if first.confidence == "high" else first.confidence,
    )


def of_entries(verdict: str, numbers: dict[str, Number]) -> str:
    """Return the sentence on a prompt cache of entries."""
    n = _printed(numbers)
    limit = f" Its limit is {n['limit_bytes']}." if numbers["limit_bytes"] is not None else " No limit of it was recorded."
    if not verdict:
        return (
            f"The prompt cache holds {n['counted_bytes']}; one reading has no trend.{limit}"
            if numbers["figures"] == 1
            else f"The prompt cache holds {n['counted_bytes']}.{limit}"
        )
    if verdict == "budget_filling":
        return f"The prompt cache holds {n['counted_bytes']} of its limit of {n['limit_bytes']}; what does not fit any more evicts the oldest entries."
    if numbers["limit_bytes"] is not None:
        return (
            f"The prompt cache holds {n['counted_bytes']}, {n['over_budget_bytes']} above its limit of {n['limit_bytes']}: one entry is always kept, however "
            "large it is."
        )
    return (
        f"The prompt cache grew by {n['growth_bytes']} to {n['counted_bytes']} in {numbers['figures']} readings, {n['growth_bytes_per_figure']} each, and has "
        "not stopped: it stores whole entries, and no limit in bytes was recorded."
    )


def too_few(data: LoneSeries, facts: Facts) -> str:
    """Return what figures say that are too few for a trend."""
    read = ", ".join(data.printed(value) for value in data.y)
    lacks = f"{len(data)} figure{'s have' if len(data) > 1 else ' has'} no trend: {data.gauge} {read}."
    budget = facts.policy.value.budget_bytes
    if facts.policy.how == "unknown" or not 0 < data.grown <= 1.15 * budget or len(data) < 3:
        return lacks
    plateau = data.printed(float(data.y[0]) + budget)
    return f"{lacks} That contradicts no budget of {binary(budget)} (plateau at {plateau}): a further figure decides, the same is the budget, more is not."


def of_figures(verdict: str, numbers: dict[str, Number], data: LoneSeries, facts: Facts) -> str:
    """Return the sentence on figures alone."""
    n = {name: data.printed(value) if "bytes" in name and isinstance(value, int | float) else str(value) for name, value in numbers.items()}
    budget, rate = binary(facts.policy.value.budget_bytes), f"{n[f'growth_bytes_per_{data.along}']} per {data.along}"
    since = f"{data.along} {n[f'plateau_since_{data.along}']}" if data.stays_since is not None else f"the last {data.along}"
    left, grew = numbers[f"{data.along}s_until_full"], f"{data.gauge} grew by {n['growth_bytes']} ({rate})"
    full = f" It is full at about {data.along} {int(str(numbers[f'last_{data.along}'])) + left:,}, {left:,} from now." if isinstance(left, int) else ""
    same = "A leak of the same rate looks the same until"
    if verdict == "budget":
        said = f"{grew} and has stayed there since {since}: the growth is a budget of {budget} that filled, on top of {n['first_bytes']}."
    elif verdict == "budget_filling" and numbers["predicted_plateau_bytes"] is None:
        said = f"{grew} to {n['last_bytes']}, about as much as a budget of {budget} and live buffers explain, and has not stopped yet. {same} growth goes on."
    elif verdict == "budget_filling":
        said = f"{grew}, which a budget of {budget} still explains: expected plateau {n['predicted_plateau_bytes']}.{full} {same} then."
    elif verdict == "no_growth":
        said = f"{data.gauge} {_went(data, since)}."
    elif "growth_bytes_per_new_token" in numbers:
        per_token = binary(float(str(numbers["growth_bytes_per_new_token"])))
        said = f"{grew} to {n['last_bytes']} and goes on: {per_token} per generated token, more than the keys and values of any model cost."
    else:
        past = f"{n['past_budget_bytes']} past a budget of {budget} that these rules do not let anything pass"
        said = f"{data.gauge} grew by {n['growth_bytes']} and goes on, {past}."
    if verdict in ("budget", "no_growth") and data.step > LEVEL:
        place = data.stays_since
        stayed = max(1.0, float(data.x[-1] - data.x[0 if place is None else place]))
        hidden = f"{binary(data.step / stayed)} more per {data.along}"
        said += f" Prints {data.printed(data.step)} apart may hide up to {hidden}: read bytes (/api/ps)."
    return said + _fell(data) + _not_recorded(facts, verdict)


def _went(data: LoneSeries, since: str) -> str:
    first, last = data.printed(float(data.y[0])), data.printed(float(data.y[-1]))
    if data.stays_since is not None and abs(data.grown) > max(LEVEL, data.step):
        return f"went from {first} to {last} and no longer changes since {since}"
    return f"does not grow: {first} at first, {last} at last, {len(data)} figures"


def _not_recorded(facts: Facts, verdict: str) -> str:
    if facts.policy.is_known or verdict == "no_growth":
        return " The requests' matches were not recorded." if facts.policy.how != "unknown" else ""
    return " The requests' matches and the server's version were not recorded; Ollama's budget is assumed."


def _fell(data: LoneSeries) -> str:
    if data.lifetimes == 1:
        return ""
    if not data.fell_by:
        return f" The model was unloaded or restarted within the series: what is judged is {data.along} {data.x[0]:,.0f} to {data.x[-1]:,.0f}."
    return (
        f" It fell by {data.printed(data.fell_by)} after {data.along} {data.x[-1]:,.0f}, as by an unload or a restart: "
        "what is read from then on says nothing of the growth before."
    )


def open_figures(facts: Facts, data: LoneSeries, budget: int) -> Finding:
    """Return the answer when figures alone decide nothing."""
    grown = data.printed(data.grown)
    if data.grown <= max(LEVEL, data.step):
        lacks = f"{data.gauge} rose by {grown}, one step of its print: that is neither growth nor none.{_fell(data)}"
        return replace(unanswered(QUESTION, "finer_figures", facts, lacks), refuted_by=_LOG)
    if facts.policy.how == "unknown":
        last = data.printed(float(data.y[-1]))
        lacks = f"{data.gauge} grew by {grown} to {last} and has not stopped; nothing in the recording shows a prefix cache.{_fell(data)}"
        return replace(unanswered(QUESTION, "a_cache", facts, lacks), refuted_by=_LOG)
    lacks = (
        f"{data.gauge} grew by {grown} to {data.printed(float(data.y[-1]))} and goes on, past the {binary(budget)} of a snapshot budget: that alone does not "
        f"explain it.{_fell(data)} One long conversation under rules that exempt the active path (Ollama up to 0.34), long live buffers and a leak look alike "
        "here."
    )
    shape = f" {how_to_record('shape', facts)}" if facts.shape.value is None else ""
    return replace(not_enough_data(QUESTION, lacks, f"{how_to_record('matches', facts)}{shape}", ("matches",)), refuted_by=_LOG)


def with_shape_wanted(thin: Finding, facts: Facts) -> Finding:
    """Return an open answer that says what the model's shape would add."""
    wanted = (
        f"The shape of the model {facts.model!r} is not known: give its config.json (kvlab diagnose --shape config.json), and the rules say where it will stop."
    )
    return replace(thin, summary=f"{thin.summary} {wanted}")


def with_requests(thin: Finding, requests: int, model: str, predicted: Values, verdict: str) -> Finding:
    """Return an open answer with what the rules make of the requests that are known."""
    now = round(float(predicted[-1]))
    numbers: dict[str, Number] = {
        "simulated_requests": requests,
        "simulated_bytes_now": now,
        "simulated_growth_bytes": round(float(predicted[-1] - predicted[0])),
        "simulated_verdict": verdict,
    }
    said = f"After the {requests} requests that are known a cache of {model} is reported with {binary(now)} by the rules ({verdict}): compare /api/ps now."
    return replace(thin, numbers=thin.numbers | numbers, summary=f"{thin.summary} {said}")


def with_conversation(thin: Finding, shape: Shape, verdicts: dict[str, str], policy: Policy | None) -> Finding:
    """Return an open answer with what the rules make of one long conversation; `policy` are those of the server, when they are known."""
    numbers: dict[str, Number] = {"whole_state_bytes": shape.state_bytes, "bytes_per_token": shape.bytes_per_token}
    numbers |= {f"conversation_verdict_{name.replace(' ', '_')}": verdict for name, verdict in verdicts.items()}
    if not shape.state_bytes:
        said = f"{shape.name} keeps no whole states: a conversation stores {binary(shape.bytes_per_token)} for each new token and nothing twice."
        return replace(thin, numbers=thin.numbers | numbers, summary=f"{thin.summary} {said}")
    said = f"What the rules say of {shape.name}: each restore point stores a whole state of {binary(shape.state_bytes)}, whatever the context length. "
    rules = policy or Policy(protect="active_path")
    exempt = rules.protect == "active_path"
    if exempt:
        said += (
            "Up to Ollama 0.34 the active path is exempt from eviction (protect=active_path): one long conversation passes the budget of "
            f"{binary(rules.budget_bytes)} and goes on, over_budget_by_design. "
        )
    if policy is None or not exempt:
        said += "Later releases protect only its end and branch points, and it stops at the budget."
    return replace(thin, numbers=thin.numbers | numbers, summary=f"{thin.summary} {said.strip()}")


def _printed(numbers: dict[str, Number]) -> dict[str, str]:
    return {name: binary(value) if isinstance(value, int | float) else "unknown" for name, value in numbers.items() if "bytes" in name}


_LOG = "the server's log, whose simulation says what the cache holds by its rules"

OF_FIGURES = {
    "budget": "further requests that lift it past the plateau, or a smaller budget that does not lower it",
    "budget_filling": "growth that goes on past the expected plateau",
    "no_growth": "growth during further requests of the same kind",
    "leak": "the server's log, when the simulation of its requests holds as much",
}
"""By verdict on figures alone: what one would have to see for it to be wrong."""

REFUTED_BY = {
    "leak": "the same requests under the same policy, longer, with unexplained bytes that stay where they are",
    "over_budget_by_design": "what the budget counts falling back to the budget during further requests of the same kind",
    "unexplained": "rules of the server, or a simulation of the same requests, that hold as much above the budget",
    "budget": "further unrelated requests that lift the active bytes past the predicted plateau, or a smaller budget that does not lower the plateau",
    "budget_filling": "growth that goes on past the predicted plateau",
    "no_growth": "counted or unexplained bytes that rise during further requests of the same kind",
}
"""By verdict: what one would have to see for it to be wrong."""
