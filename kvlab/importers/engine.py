"""The one engine that reads formats: lines, rows under headings and JSON answers become events by what `formats/*.toml` says of them.

A request is open from the line that begins it to the one that ends it, to the next that begins with the same `key`, or to the end of the text. Figures in
between are its own; figures after it belong to it until the next one begins. Seconds of a prefill are those between the line at which the request was taken
up and the last line of its progress, where the log does not print them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.importers.figures import Figure, read_figure
from kvlab.importers.formats import GAUGES, OF_BYTES, OF_WORDS, SECONDS, Format, Line, Spec
from kvlab.importers.rows import Output
from kvlab.importers.stamps import Clock, read_moment, zoned
from kvlab.importers.summary import KNOWN, READ
from kvlab.units import LARGEST

_MODEL = re.compile(r"(?:--model|--alias|-m)[ =](\S{1,200})")
_BODY = re.compile(r"\s*(?:- )?(?:Raw body|Incoming Request Body|Invalid Request Body|Outgoing Response|Body)\b.*", re.DOTALL)
"""What a server prints of a prompt or an answer: never kept."""

_NEARLY = 0.99
"""The share of a prompt from which on its prefill counts as done: servers print the last step before the last tokens."""

_NAMED = re.compile(r"\{(\w+)\}")

Fields = dict[str, str]


@dataclass(slots=True)
class Open:
    """A request that is open, with what is known of it."""

    number: int
    began: float
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    done: float = -1.0
    at: float = 0.0
    prefilled: float | None = None


class Listing:
    """A server's list of the models it has loaded, as a tool prints it: rows that belong together, of which the events must say how many there are.

    A model that is named again under one heading begins a new listing: somebody pasted several readings together. An empty list says that nothing is loaded.
    """

    __slots__ = ("_begun", "_output", "_rows")

    def __init__(self, output: Output) -> None:
        self._output = output
        self._rows: list[dict[str, str]] = []
        self._begun = False

    def add(self, fields: dict[str, str]) -> None:
        """Add a row; one without a model is the heading of a new list."""
        model = fields.get("model")
        if model is None:
            self.end()
            self._begun = True
            return
        if any(row["model"] == model for row in self._rows):
            self._write()
        self._rows.append(fields.copy())
        # its figures are written with the list, when their number is known
        for name in ("size", "processor", "context"):
            fields.pop(name, None)

    def end(self) -> None:
        """Write the list that waits."""
        if self._begun or self._rows:
            self._write()
        self._begun = False

    def _write(self) -> None:
        out, count = self._output, len(self._rows)
        if not count:
            out.rows.add("listed", 0, "", "", None, "", out.at)
        for row in self._rows:
            name, figure, context = row["model"], read_figure(row.get("size", "")), row.get("context", "")
            out.model = out.model or name
            whole = int(context) if context.isdecimal() and len(context) < 18 else None
            out.rows.add("listed", count, name, row.get("digest", ""), whole, row.get("until", ""), out.at)
            if figure is not None and figure.observed is not None:
                out.figure("size", figure.observed, unit=figure.unit, step=figure.step, label=name)
            if processor := row.get("processor"):
                out.words("processor", processor, label=name)
        self._rows, self._begun = [], False


class Engine:
    """Reads by formats.

    Attributes:
        names: Formats by which something was read.
        last: The format that read last.
    """

    def __init__(self, output: Output, clock: Clock, formats: Sequence[Format]) -> None:
        self._out = output
        self._clock = clock
        self._lines = [line for one in formats for line in one.lines]
        self._by_format = {one.name: list(one.lines) for one in formats}
        self._listing = Listing(output)
        self._open: dict[str, Open] = {}
        self._waiting: dict[str, Any] = {}
        self._waits_since: float | None = None
        self._block: dict[str, str] = {}
        self._in_block = ""
        self._generate: dict[str, float] = {}
        self._latest = 0
        self._key = ""
        self.last = ""
        self.names: dict[str, None] = {}

    def take(self, text: str) -> tuple[Line, list[re.Match[str]]] | None:
        """Return the line of a format that `text` is, and its matches; None when it is none."""
        first = self._by_format.get(self.last, ())
        for line in (*first, *self._lines) if first else self._lines:
            if line.has in text and (not line.inside or self._in_block == line.format):
                found = list(line.pattern.finditer(text)) if line.repeat else [line.pattern.fullmatch(text)]
                whole = [one for one in found if one is not None and (not line.repeat or one["name"].lower().strip() in line.names)]
                if whole:
                    return line, whole
        return None

    def read(self, spec: Spec, fields: Fields) -> str:
        """Write what a line, a row or an answer with these fields says; return what became of it."""
        self.names[spec.format] = None
        self.last = spec.format
        if "time" in fields and spec.event != "moment":
            self.moment(read_moment(fields["time"]))
        fields = _named(spec, self._of_block(spec, _filled(spec, fields)))
        if spec.event != "listed":
            self._listing.end()
        number = self._request(spec, fields)
        before, self._out.rows.request = self._out.rows.request, number
        made = self._event(spec, fields) if spec.event else False
        # a peak of a request is in its own row
        without = ("peak",) if spec.request or spec.event == "began_anew" else ()
        for gauge in [name for name in fields if name in GAUGES and name not in without]:
            made = self._figure(spec, fields, gauge) or made
        self._out.rows.request = before
        return READ if made or spec.request else KNOWN

    def _of_block(self, spec: Spec, fields: Fields) -> Fields:
        """Return a line's fields with those of the line that began its block."""
        if isinstance(spec, Line):
            if spec.opens or spec.closes:
                self.end_block()
            if spec.opens:
                self._in_block = spec.format
                self._block = {key: fields[key] for key in ("label", "pid", "page", "process") if key in fields}
            if self._in_block == spec.format:
                return {**self._block, **fields}
        return fields

    def end_block(self) -> None:
        """A block ends: another tool's output follows, or a moment, or a command."""
        self._listing.end()
        self._block, self._in_block = {}, ""

    def end(self) -> None:
        """The text ends."""
        self.end_block()
        self._generated()
        for key in list(self._open):
            self._close(key)

    def _figure(self, spec: Spec, fields: Fields, gauge: str) -> bool:
        text, out = fields[gauge].strip(), self._out
        # the label of a line that begins or ends a request is the request's
        label = "" if spec.request in ("begins", "ends") else fields.get("label", "") or fields.get("process", "") or fields.get("model", "")
        pid = _count(fields.get("pid", ""))
        if gauge in OF_WORDS:
            out.words(gauge, text, label=label)
            return True
        unit = spec.unit.get(gauge) or spec.unit.get("value", "")
        if unit == "pages":
            page, count = _count(fields.get("page", "")) or 0, _count(text)
            if not page or count is None or count * page > LARGEST:
                return False
            out.figure(gauge, count * page, unit=f"pages of {page} B", step=page, label=label, pid=pid)
            return True
        figure = read_as(text, unit, binary=spec.binary)
        if figure is None:
            return False
        if figure.observed is not None:
            out.figure(gauge, figure.observed, unit=figure.unit, step=figure.step, label=label, pid=pid)
        elif gauge in OF_BYTES and (whole := _whole(figure.number)) is not None and not figure.unit:
            out.figure(gauge, whole, unit="B", step=1, label=label, pid=pid)
        elif gauge in OF_BYTES or figure.number is None:
            return False
        else:
            share = figure.unit == "%"
            out.number(gauge, figure.number / 100 if share else figure.number, unit="" if share else figure.unit, label=label)
        return True

    def _request(self, spec: Spec, fields: Fields) -> int:
        """Follow what a line is to a request; return the number of the one that its figures belong to."""
        rows = self._out.rows
        # lines that go on do not name their request again
        key = fields.get("key", self._key if spec.request in ("within", "ends") and self._key in self._open else "")
        self._key = key if spec.request else self._key
        known = _known(spec, fields)
        if spec.request == "before":
            self._waiting |= known
            self._waits_since = rows.t if not self._open else self._waits_since
        now = self._open.get(key)
        if spec.request == "begins" and now is not None and not _goes_on(now, known):
            self._close(key)
            now = None
        if now is None and spec.request in ("begins", "within", "ends"):
            now = self._begin(key, known)
            known = self._waiting | known
            self._waiting, self._waits_since = {}, None
        if now is not None and spec.request in ("begins", "within", "ends"):
            self._learn(now, known)
            if spec.request == "ends":
                self._close(key)
            return now.number
        if self._out.rows.request:
            return self._out.rows.request
        return next(iter(self._open.values())).number if len(self._open) == 1 else now.number if now is not None else self._latest

    def _begin(self, key: str, known: Mapping[str, Any]) -> Open:
        rows = self._out.rows
        before = rows.request
        number = rows.began(known.get("label", ""), known.get("tokens"))
        rows.request = before
        began = rows.t if self._waits_since is None else self._waits_since
        self._open[key] = now = Open(number, began, at=began)
        return now

    def _learn(self, now: Open, known: Mapping[str, Any]) -> None:
        rows, before = self._out.rows, dict(now.known)
        now.known |= known
        tokens, left, cached = (now.known.get(name) for name in ("tokens", "left", "cached"))
        done = known.get("done")
        if done is not None and now.done < 0 and tokens is not None and cached is None:
            cached = now.known["cached"] = int(done)
        if tokens is not None and cached is None and left is not None:
            cached = now.known["cached"] = max(0, tokens - left)
        if left is None and tokens is not None and cached is not None:
            left = now.known["left"] = tokens - cached
        similarity = now.known.get("similarity")
        if similarity is not None and tokens is not None and "matched" not in now.known:
            now.known["matched"] = round(similarity * tokens)
        names = ("tokens", "matched", "cached", "left", "reason", "layer")
        if any(now.known.get(name) is not None for name in names[1:]) and any(now.known.get(name) != before.get(name) for name in names):
            rows.add_to(now.number, "matched", tuple(now.known.get(name) for name in names))
        if done is not None:
            self._progressed(now, float(done), left if tokens is None else tokens)

    def _progressed(self, now: Open, done: float, total: int | None) -> None:
        rows = self._out.rows
        if done > max(now.done, 0):
            place = (int(max(now.done, 0)), int(done)) if "tokens" in now.known else (None, None)
            rows.add_to(now.number, "chunk_ran", (*place, max(0.0, rows.t - now.at)))
            now.at = rows.t
            if total and done >= _NEARLY * total and rows.t > now.began:
                now.prefilled = rows.t - now.began
        now.done = max(now.done, done)

    def _close(self, key: str) -> None:
        now = self._open.pop(key)
        known = {"prefill_s": now.prefilled, **now.known}
        self._latest = now.number
        self._out.rows.add_to(now.number, "request_closed", tuple(known.get(name) for name in ("generated", "stop", "prefill_s", "decode_s", "peak", "ttft_s")))

    def _event(self, spec: Spec, fields: Fields) -> bool:
        rows, out = self._out.rows, self._out
        pid, at = _count(fields.get("pid", "")), fields.get("time", "") or out.at
        model = fields.get("model", "").rpartition("/")[2]
        match spec.event:
            case "served":
                figure = read_figure(fields.get("seconds", ""), spec.unit.get("seconds", "s"))
                call = f"{fields.get('method', 'POST')} {fields.get('call', '').partition('?')[0]}"
                rows.add("served", call, _count(fields.get("status", "")) or 0, figure.number if figure else None)
                if fields.get("method") == "POST" and "" in self._open:
                    self._close("")
            case "warned":
                self.warn(fields.get("message", ""))
            case "process_seen" if pid is not None:
                command = fields.get("command", "")
                program = fields.get("process") or command.split(" ")[0].rpartition("/")[2]
                found = _MODEL.search(command)
                model = model or (found[1].rpartition("/")[2] if found else "")
                fields.setdefault("process", program)
                out.model = out.model or model
                rows.add("process_seen", pid, _count(fields.get("ppid", "")), program, model, at)
            case "listed":
                self._listing.add(fields)
            case "runner_changed":
                rows.add("runner_changed", fields["state"], model, pid, _count(fields.get("port", "")))
            case "life_sign":
                rows.add("life_sign", fields["state"], model, pid, None, fields.get("message", ""))
            case "moment":
                self.end_block()
                self.moment(read_moment(fields["time"]))
            case "began_anew":
                self._generated(fields)
            case _:
                return False
        return True

    def warn(self, message: str) -> None:
        """Write a warning, without a prompt or an answer in it."""
        if shown := _BODY.sub("", message):
            self._out.rows.add("warned", shown[:300])

    def moment(self, at: str) -> None:
        """What follows is of this moment."""
        if at:
            self._out.at = zoned(at, self._clock.first)
            self._out.rows.t = self._clock.read(self._out.at)

    def _generated(self, fields: Fields | None = None) -> None:
        """Keep what a generating program prints at its end; without further fields, or with a prompt's anew, it has ended."""
        kept = self._generate
        if fields is None or any(name in kept for name in fields):
            if kept:
                tokens, generated = kept.get("tokens"), kept.get("generate_tokens")
                prompt_tps, tps = kept.get("prompt_tps"), kept.get("generate_tps")
                rows = self._out.rows
                rows.began("", _whole(tokens) if tokens else None)
                prefill, decode = (count / rate if count and rate else None for count, rate in ((tokens, prompt_tps), (generated, tps)))
                peak = kept.get("peak")
                rows.add("request_closed", _whole(generated), None, prefill, decode, _whole(peak), None)
                rows.request = 0
            self._generate = kept = {}
        for name, text in (fields or {}).items():
            figure = read_figure(text)
            value = None if figure is None else figure.observed if figure.observed is not None else figure.number
            if value is not None:
                kept[name] = value


def _filled(spec: Spec, fields: Fields) -> Fields:
    """Return fields with the constant ones, and those that are put together from others if all of them are there."""
    plain = {name: text for name, text in spec.set.items() if "{" not in text}
    made = {name: text.format_map(fields) for name, text in spec.set.items() if name not in plain and all(one in fields for one in _NAMED.findall(text))}
    return {**plain, **fields, **made}


def _named(spec: Spec, fields: Fields) -> Fields:
    """Return fields with a `value` under the field that its `name` means; without it when the name means none."""
    name = spec.names.get(fields.get("name", "").strip().lower())
    rest = {key: text for key, text in fields.items() if key != "value"}
    return {**rest, name: fields["value"]} if name and "value" in fields else rest


def read_as(text: str, unit: str, *, binary: bool) -> Figure | None:
    """Return a figure of a format whose KB, MB and GB may be powers of 1024, as macOS' tools print them."""
    if not binary:
        return read_figure(text, unit)
    figure = read_figure(re.sub(r"(?<=[KMGT])B\b", "", text), unit)
    if figure is None or figure.observed is None:
        return None
    return Figure(figure.observed, None, f"{figure.unit}B of 1024" if figure.unit and figure.unit in "KMGT" else figure.unit, figure.step)


def _known(spec: Spec, fields: Fields) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name in ("tokens", "matched", "cached", "left", "generated", "done"):
        if name in fields and (count := _count(fields[name].replace(",", "").replace(" ", ""))) is not None:
            known[name] = count
    for name in (*SECONDS, "similarity", "share"):
        figure = read_figure(fields[name], spec.unit.get(name, "")) if name in fields else None
        if figure is not None and figure.number is not None and figure.number >= 0:
            known[name] = figure.number / 100 if figure.unit == "%" else figure.number
    if "peak" in fields and (figure := read_as(fields["peak"], spec.unit.get("peak", ""), binary=spec.binary)) is not None:
        known["peak"] = figure.observed
    words = ("label", "reason", "layer", "stop") if spec.request in ("begins", "ends") else ("reason", "layer", "stop")
    return known | {name: fields[name] for name in words if name in fields}


def _goes_on(now: Open, known: Mapping[str, Any]) -> bool:
    """Return whether a line of progress is of the request that is open."""
    if "share" in known:
        return known["share"] >= now.known.get("share", 0.0) and known["share"] > 0
    if "done" not in known:
        return False
    same = all(known.get(name) == now.known.get(name) for name in ("tokens", "left") if name in known)
    return same and known["done"] >= now.done


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _whole(number: float | None) -> int | None:
    """Return a whole number that an event can hold; None of any other."""
    return int(number) if number is not None and abs(number) < LARGEST and number == int(number) else None
