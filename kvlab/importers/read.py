"""Reading a file of any known kind into a recording, block by block, so that a log of any size takes little of this process's own bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.importers.account import Account
from kvlab.importers.inputs import Input
from kvlab.importers.kinds import KINDS, SAMPLES, Importer, importer_of, nearest_line, recognise
from kvlab.importers.lines import Seen, blocks_of_lines, head_of
from kvlab.importers.rows import Rows
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recorder, Recording

UNKNOWN = "unknown"


@dataclass(eq=False)
class Imported:
    """A file that was read.

    Attributes:
        kind: What it was taken for.
        requests: How many requests it has.
        events: How many events were written.
        summary: What became of its lines.
        recorder: Where the events went.
        importer: What read it.
    """

    kind: str
    requests: int
    events: int
    summary: Summary
    recorder: Recorder
    importer: Importer

    @property
    def path(self) -> Path:
        """The recording's folder."""
        return self.recorder.path

    @cached_property
    def account(self) -> Account:
        """What became of its figures, of all lines of a small file, else of the first ones."""
        return self.importer.account

    @cached_property
    def recording(self) -> Recording:
        """The recording, read back at the first use, all events at once: 8.5 million, of a log of 1 GB at INFO, take 3 GB of this process's bytes."""
        return self.recorder.close()


def import_file(path: str | Path, kind: str | None = None, out: str | Path | None = None) -> Imported:
    """Read a file into a recording.

    Args:
        path: The file, packed with gzip or xz or not; `-` is standard input.
        kind: One of `KINDS`; by default it is recognised.
        out: The recording's folder; None for a temporary one.

    Raises:
        BadValue: `kind` is not known, or `out` cannot be used.
        UnreadableInput: the file is of no known kind, or cannot be read.
    """
    file = Input(path)
    chosen = kind_of(file, kind)
    if out is not None and file.is_small:
        # an earlier recording there is not replaced by one of a file that cannot be read
        read_into(Rows(None, chosen), Summary(), file, chosen, given=kind is not None)
    summary = Summary()
    recorder = Recorder(Manifest.now(model=UNKNOWN, origin={"file": file.name, "kind": chosen}, source=chosen), out=out)
    try:
        rows = Rows(recorder, chosen)
        importer = read_into(rows, summary, file, chosen, given=kind is not None)
        recorder.manifest = dataclasses.replace(
            recorder.manifest,
            model=importer.model or UNKNOWN,
            origin=recorder.manifest.origin | {"began": importer.clock.first} | ({"ollama": importer.version} if importer.version else {}),
            policy=policy_of(importer.version),
        )
        recorder.finish()
    except BaseException as error:
        # what was written stays, as a recording that is not complete
        recorder.__exit__(type(error), error, None)
        raise
    return Imported(chosen, rows.requests, rows.seq, summary, recorder, importer)


def read_into(rows: Rows, summary: Summary, file: Input, kind: str, more: Sequence[Input] = (), *, given: bool = True) -> Importer:
    """Read an input of a known kind into rows, count its lines, and return what read it; `more` are further pieces of the same.

    That the kind was not `given`, but recognised, changes what is said of a file of which nothing can be read.

    Raises:
        UnreadableInput: it cannot be read, or nothing in it is of that kind.
    """
    # what was recognised by its beginning may go on as something else
    importer = importer_of(kind if given or kind == "ollama-log" else SAMPLES, rows, summary)
    try:
        seen = Seen() if more else None
        for piece in (file, *more):
            for lines in blocks_of_lines(piece):
                importer.lines(lines if seen is None else seen.new(lines))
            if seen is not None:
                seen.end()
        importer.finish()
    except KvlabError as error:
        raise _named(error, file.name) from None
    rows.request = 0
    if importer.clock.back:
        rows.add("warned", f"the clock goes back by {importer.clock.back:,.0f} s: seconds that span this step mean nothing")
    for line_kind in summary.kinds.values():
        rows.add("lines_counted", line_kind.name, line_kind.understood, line_kind.count, line_kind.line)
    rows.flush()
    _nothing_read(summary, file.name, kind, given=given)
    return importer


def read_ollama_log(path: str | Path) -> Recording:
    """Return the recording that an Ollama server.log tells: requests, bytes, tries, runners. What was not understood is in its `lines_counted` events.

    Raises:
        UnreadableInput: the file cannot be read, or no line of it is of such a log.

    Example:
        >>> import kvlab
        >>> recording = kvlab.read_ollama_log(kvlab.shipped.data("samples") / "ollama_grew.log")
        >>> recording.manifest.model, recording.requests.height
        ('gemma4:31b-mlx', 26)
    """
    return import_file(path, "ollama-log").recording


def read_table(path: str | Path) -> Recording:
    r"""Return the recording that a table of figures tells (markdown, CSV or columns): its requests, and every figure in `observed`.

    Raises:
        UnreadableInput: the file cannot be read, or holds no table.

    Example:
        >>> import kvlab
        >>> from pathlib import Path
        >>> _ = Path("sizes.csv").write_text("request,size\n1,18 GB\n2,19 GB\n")
        >>> kvlab.read_table("sizes.csv").observed["value"].to_list()
        [18000000000, 19000000000]
    """
    return import_file(path, "table").recording


def kind_of(file: Input, kind: str | None) -> str:
    """Return the kind of an input: the one given, else the one that is recognised.

    Raises:
        BadValue: the given kind is not known.
        UnreadableInput: the file cannot be read, is empty, or is of no known kind.
    """
    if kind is not None and kind not in KINDS:
        raise BadValue(what=f"no input is of kind {kind!r}", why=f"the kinds are {', '.join(KINDS)}", hint="name one of them, or leave it out")
    begin = head_of(file)
    found = kind or recognise(begin)
    if found is None:
        raise UnreadableInput(
            what=f"{file.name!r} is of no kind that can be read" if begin.strip() else f"{file.name!r} is empty",
            why=f"{nearest_line(begin)}what can be read: " + "; ".join(f"{name}: {about}" for name, about in KINDS.items()),
            hint="write its figures as a table of two columns, `request,size` and below it `1,18 GB`; --as KIND reads a text as what you say it is",
        )
    return found


def _nothing_read(summary: Summary, name: str, kind: str, *, given: bool) -> None:
    if not summary.total(READ) and not summary.partly:
        raise UnreadableInput(
            what=f"nothing in {name!r} could be read as {kind} ({KINDS[kind]})",
            why=f"{summary.total(NOT):,} lines were not understood, {summary.total(KNOWN):,} are known and have no figures",
            hint=f"the kinds are {', '.join(KINDS)}; {'leave --as out to have it recognised' if given else '--as KIND reads it as what you say it is'}",
        )


def _named(error: KvlabError, name: str) -> KvlabError:
    return type(error)(what=f"{name}: {error.what}", why=error.why, hint=error.hint)


def policy_of(version: str | None) -> dict[str, object]:
    """Return the rules of the cache of a server's version; {} when none is named or it is older than what is known."""
    try:
        return Policy.of_server(version).to_dict() if version else {}
    except KvlabError:
        return {}
