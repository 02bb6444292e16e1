"""The demo: a real model fills its prefix cache request by request; the budget stops it, and kvlab says so.

One story: 15 unrelated questions to the embedded model, under a budget that about ten of them fill. Answers are printed, never stored.
"""

from __future__ import annotations

import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from kvlab.errors import UnreadableInput
from kvlab.events import Event, RequestClosed
from kvlab.findings import Finding, diagnose
from kvlab.output_file import require_replaceable
from kvlab.recording import Recording
from kvlab.studies.request_rows import RowsAsTheyCome
from kvlab.units import binary, unit_for
from kvlab.views.report import HTML
from kvlab.workloads import Workload, unrelated

MODEL = "smollm2"
REQUESTS = 15
BUDGET_TOKENS = 480
"""The budget is what this many tokens count for, in whatever number type the model runs here: ten questions and their answers."""

RECORDING = "demo.kvrec"
REPORT = "demo.html"

WIDTH = 116

_OPENING = (
    "A chat server keeps what it computed for old prompts, in case a new one begins the same way: its prefix cache. Below, {requests} "
    "unrelated questions go to a real model, {model} with {weights} of weights, under today's upstream rules and a small budget of {budget}. "
    "Each question leaves a branch in the cache's trie: watch `counted`. A row a request; `matched` tokens were found in the trie, "
    "`cached` of them restored, `left` computed again."
)

_CLOSING = """\
What next
  open {report} in a browser: the same run, drawn; it needs no network
  kvlab diagnose {recording}: every question, with what would refute the answer
  kvlab run unrelated:15 --budget {half}: half the budget, and the plateau comes after half the requests
  kvlab lab: the notebooks
"""


class Answers:
    """Keeps the answers of a run in mind while it goes on; they are not stored."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def see(self, event: Event) -> None:
        """Take one event of the run."""
        if isinstance(event, RequestClosed) and event.text:
            self.texts[event.request] = event.text.strip()


def demo(folder: str | Path = ".", write: Callable[[str], None] = print, requests: int = REQUESTS) -> Recording:
    """Run the demo, write `demo.kvrec` and `demo.html` into `folder`, and return the recording.

    Raises:
        BadValue: `folder` has a demo.html or a demo.kvrec that is none of ours.
        UnreadableInput: `folder` cannot be written.
        NotAvailable: the model is not in the cache folder yet and cannot be fetched.
    """
    import kvlab

    place = _writable(Path(folder).expanduser())
    require_replaceable(place / REPORT, HTML)
    write("Opening the embedded model (the first time it is fetched into the cache folder) ...")
    lab = kvlab.open(MODEL)
    budget = BUDGET_TOKENS * lab.shape.bytes_per_token
    opening = _OPENING.format(requests=requests, model=MODEL, weights=binary(lab.shape.weights_bytes), budget=binary(budget))
    write("\n" + textwrap.fill(opening, WIDTH) + "\n")
    workload, answers = unrelated(requests), Answers()
    rows = RowsAsTheyCome(unit_for(lab.shape.weights_bytes), write)

    def each(event: Event) -> None:
        answers.see(event)
        rows.see(event)

    begun = time.perf_counter()
    recording = lab.run(workload, lab.policy.replace(budget_bytes=budget), out=str(place / RECORDING), progress=False, each=each)
    seconds = time.perf_counter() - begun
    findings = diagnose(recording)
    write("\n" + _verdict(findings.about("budget_or_leak")))
    write("\n" + _answer(workload, answers))
    from kvlab.views.report import write_report

    report = write_report(recording, place / REPORT, findings)
    write(f"\nThe run took {seconds:.0f} s. Written: {report.name} and {RECORDING} in {place.resolve()}\n")
    write(_CLOSING.format(report=REPORT, recording=RECORDING, half=binary(budget / 2).replace(" ", "")))
    return recording


def _writable(folder: Path) -> Path:
    """Return `folder`, made if it is not there; checked before the model is opened."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UnreadableInput(
            what=f"the demo cannot write into {folder}",
            why=error.strerror or str(error),
            hint="name a folder that can be written: kvlab demo --out FOLDER",
        ) from None
    return folder


def _verdict(finding: Finding) -> str:
    lines = [
        f"Verdict: {finding.verdict} (confidence {finding.confidence})",
        *textwrap.wrap(finding.summary, WIDTH, initial_indent="  ", subsequent_indent="  "),
    ]
    figures = (
        ("plateau predicted", "predicted_plateau_bytes", "weights + live + budget"),
        ("plateau observed", "observed_plateau_bytes", "the allocator's active bytes, the highest from then on"),
        ("plateau of the twin", "twin_plateau_bytes", "the same requests on span counts"),
    )
    for title, name, about in figures:
        value = finding.numbers.get(name)
        if isinstance(value, int):
            lines.append(f"  {title:<20} {binary(value):>12}   {about}")
    reached = finding.numbers.get("plateau_reached_at_request")
    if reached is not None:
        lines.append(f"  {'full at request':<20} {reached:>12}")
    return "\n".join(lines)


def _answer(workload: Workload, answers: Answers) -> str:
    question = workload.requests[0].messages[-1][1]
    return f"And it is a real model. Prompt: {question}\nReply: {answers.texts.get(1, '(nothing)')}"
