"""Logs of `mlx_lm.server` and servers like it, and what `mlx_lm.generate` prints at its end.

A server tells how far a prefill is and what its prompt cache holds, not what a prompt matched: a request's row has what was left to evaluate. Bodies and
answers, which it prints at level DEBUG or after an error, are never kept.
"""

from __future__ import annotations

import re

from kvlab.importers.blocks import Output
from kvlab.importers.figures import read_figure
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, READ

_RECORD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (?:[\w.]{1,80} - )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) - (.*)")
_HTTP = re.compile(r'\S+ - - \[([^\]]{1,40})\] "([A-Z]{3,8}) (\S{1,300}) HTTP/[\d.]+" (\d{3})\b.*')
_PROGRESS = re.compile(r"Prompt processing progress: (\d{1,12})/(\d{1,12})")
_CACHE = re.compile(
    r"(?:(Prompt Cache|KV Caches)|- (\S[\w ]{0,40})): (\d{1,12}) (?:sequences?|seq)\b, (\S+ [KMGT]?i?B)(?:, latest user cache (\d{1,12}) tokens)?.*"
)
_PROMPT = re.compile(r"Prompt: ([\d,]{1,15}) tokens, ([\d.]{1,15}) tokens-per-sec")
_GENERATION = re.compile(r"Generation: ([\d,]{1,15}) tokens, ([\d.]{1,15}) tokens-per-sec")
_PEAK = re.compile(r"Peak memory: (\S+ [KMGT]?i?B)")
_UNLOADED = re.compile(
    r"Unloaded (?:model )?['\"]?(\S{0,200}?)['\"]?(?::|,|\s).*?freed=(\S+?)(?=[\s(,;]|$)"
    r"(?:.*?expected>=(\S+?)(?=[\s),;]|$))?(?:.*?active_memory: (\S+(?: [KMGT]?i?B)?))?.*"
)
_BODY = re.compile(r"\s*(?:- )?(?:Raw body|Incoming Request Body|Invalid Request Body|Outgoing Response|Body)\b.*", re.DOTALL)
_TRACEBACK = re.compile(r"\s*(?:Traceback \(most recent|File \"|[\w.]+(?:Error|Exception)\b|\^+$|\s{2,}\S)")


class MlxLmLog:
    """Reads a server's log."""

    kind = "mlx-lm-log"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._clock = Clock()
        self._total = self._done = -1
        self._began = 0.0
        self._prompt: tuple[int, float] | None = None
        self._generated: tuple[int, float] | None = None

    def take(self, text: str) -> str | None:
        """Read a line; None when it is not of such a log."""
        if record := _RECORD.fullmatch(text):
            self._out.at = record[1]
            self._out.rows.t = self._clock.read(record[1].replace(",", "."))
            if record[2] in ("WARNING", "ERROR", "CRITICAL"):
                self._out.rows.add("warned", _BODY.sub("", record[3])[:300])
                return READ
            return self._message(record[3]) or KNOWN
        if http := _HTTP.fullmatch(text):
            self._out.rows.add("served", f"{http[2]} {http[3].partition('?')[0]}", int(http[4]), None)
            if http[2] == "POST":
                self._close()
            return READ
        if _TRACEBACK.match(text) and self._out.at:
            return KNOWN
        return self._message(text)

    def end(self) -> None:
        """The log ends."""
        self._generate_ended(None)
        self._close()

    def _message(self, text: str) -> str | None:
        if found := _PROGRESS.fullmatch(text):
            self._progress(int(found[1]), int(found[2]))
        elif found := _CACHE.fullmatch(text):
            self._cache(found[2] or "", int(found[3]), found[4])
        elif found := _PROMPT.fullmatch(text):
            self._prompt = int(found[1].replace(",", "")), float(found[2])
        elif found := _GENERATION.fullmatch(text):
            self._generated = int(found[1].replace(",", "")), float(found[2])
        elif found := _PEAK.fullmatch(text):
            figure = read_figure(found[1])
            self._generate_ended(figure.observed if figure else None)
        elif found := _UNLOADED.fullmatch(text):
            self._unloaded(found[1], found[2], found[3], found[4])
        else:
            return None
        return READ

    def _progress(self, processed: int, total: int) -> None:
        rows = self._out.rows
        if total != self._total or processed < self._done:
            self._close()
            rows.began("", None)
            rows.add("matched", None, None, None, total, None, None)
            self._total, self._done, self._began = total, 0, rows.t
        if processed > self._done:
            rows.add("chunk_ran", None, None, max(0.0, rows.t - self._began))
        self._done = processed

    def _close(self) -> None:
        rows = self._out.rows
        if self._total >= 0:
            rows.add("request_closed", None, None, None, None, None, None)
            rows.request = 0
        self._total = self._done = -1

    def _cache(self, label: str, sequences: int, size: str) -> None:
        figure = read_figure(size)
        if figure is not None and figure.observed is not None:
            self._out.figure("prompt_cache", figure.observed, unit=figure.unit, step=figure.step, label=label)
        self._out.number("prompt_cache_sequences", sequences, label=label)

    def _generate_ended(self, peak: int | None) -> None:
        if self._prompt is None and self._generated is None:
            if peak is not None:
                self._out.figure("peak", peak, unit="GB", step=10**6)
            return
        rows, (tokens, prompt_tps), (generated, tps) = self._out.rows, self._prompt or (None, 0.0), self._generated or (None, 0.0)
        rows.began("", tokens)
        prefill = tokens / prompt_tps if tokens is not None and prompt_tps > 0 else None
        decode = generated / tps if generated is not None and tps > 0 else None
        rows.add("request_closed", generated, None, prefill, decode, peak, None)
        rows.request = 0
        self._prompt = self._generated = None

    def _unloaded(self, model: str, freed: str, expected: str | None, active: str | None) -> None:
        name = model.rpartition("/")[2]
        self._out.rows.add("runner_changed", "unloaded", name, None, None)
        for gauge, text in (("freed", freed), ("freed_expected", expected), ("active", active)):
            figure = read_figure(text or "")
            if figure is not None and figure.observed is not None:
                self._out.figure(gauge, figure.observed, unit=figure.unit, step=figure.step, label=name)
