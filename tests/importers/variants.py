"""Reports in other dresses: other names and numbers, lines in another order, headings in another language, and what people and programs wrap around a text."""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.importers.report_figures import Report

_NUMBER = re.compile(r"\d[\d.]*\d{2}|\d+\.\d+")

_WORDS = {
    "de": {
        "footprint": "Speicherabdruck",
        "swap": "Verwendeter Swap",
        "request": "Anfrage",
        "State": "Zustand",
        "Condition": "Bedingung",
        "Physical Memory": "Physischer Speicher",
        "Memory Used": "Verwendeter Speicher",
        "Cached Files": "Dateien im Cache",
        "Swap Used": "Verwendeter Swap",
        "turn": "Runde",
        "nodes": "Knoten",
        "call": "Aufruf",
    },
    "zh": {
        "footprint": "物理占用",
        "swap": "已用交换",
        "request": "请求",
        "State": "状态",
        "Condition": "条件",
        "Physical Memory": "物理内存",
        "Memory Used": "已使用内存",
        "Cached Files": "已缓存文件",
        "Swap Used": "已使用的交换",
        "turn": "轮次",
        "nodes": "节点",
        "call": "次数",
    },
}
_TRANSLATED = (
    "pasted/h_4.csv",
    "pasted/y1.txt",
    "pasted/d4a.txt",
    "pasted/s0b.csv",
    "composite_pane32.txt",
    "pasted/s1_perf.txt",
    "pasted/s1_two_tables_and_peaks_hash.txt",
)


def _lines(text: str, make: Callable[[str], str]) -> str:
    return "".join(make(line) + "\n" for line in text.splitlines())


def _journal(text: str) -> str:
    return _lines(text, lambda line: f"Sep 20 14:00:01 lab-host server[812]: {line}")


def _journal_iso(text: str) -> str:
    return _lines(text, lambda line: f"2026-09-20T14:00:01+0200 lab-host server[812]: {line}")


def _container(text: str) -> str:
    return _lines(text, lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-09-20T14:00:00.1Z"}))


def _coloured(text: str) -> str:
    return _lines(text, lambda line: f"\x1b[36m{line}\x1b[0m")


def _fenced(text: str) -> str:
    return f"I see this on my machine:\n\n```\n{text.rstrip()}\n```\n\nIs it a leak?\n"


def _fenced_and_quoted(text: str) -> str:
    return _lines(_fenced(text), lambda line: f"> {line}")


DRESSES: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "journal": lambda text: _journal(text).encode(),
    "journal, iso": lambda text: _journal_iso(text).encode(),
    "container": lambda text: _container(text).encode(),
    "kubernetes": lambda text: _lines(text, lambda line: f"2026-09-20T14:00:00.123456789Z stderr F {line}").encode(),
    "colours": lambda text: _coloured(text).encode(),
    "quoted": lambda text: _lines(text, lambda line: f"> {line}").encode(),
    "fenced": lambda text: _fenced(text).encode(),
    "fenced and quoted": lambda text: _fenced_and_quoted(text).encode(),
    "windows lines": lambda text: text.replace("\n", "\r\n").encode(),
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "blank lines around": lambda text: f"\n\n{text}\n\n\n".encode(),
}

VARIANTS: list[str] = [*DRESSES, *(f"numbers, {name}" for name in ("plain", "gzip", "journal", "quoted", "colours")), "names", "order", "de", "zh"]


def varied(rng: random.Random, variant: str, text: str, report: Report, name: str) -> tuple[bytes, Report, str]:
    """Return a variant of a report's text, what is to be read off it, and a name for its file."""
    file = name.rpartition("/")[2]
    if not text.endswith("\n"):
        text += "\n"
    dress = variant.removeprefix("numbers, ")
    if variant.startswith("numbers, "):
        text, report = _other_numbers(rng, text, report)
    elif variant == "names":
        text = _other_names(rng, text, report)
    elif variant == "order":
        text, report = _other_order(rng, text, report)
    elif variant in _WORDS and name in _TRANSLATED:
        for word, other in _WORDS[variant].items():
            text = re.sub(rf"(?<![\w]){word}(?![\w])", other, text)
    return DRESSES.get(dress, DRESSES["plain"])(text), report, file + {"gzip": ".gz", "xz": ".xz"}.get(dress, "")


def _other_numbers(rng: random.Random, text: str, report: Report) -> tuple[str, Report]:
    """Return a text in which the last digits of figures that somebody reads off are others; those that grow still grow."""
    figures = [one for several in (*report.gauges.values(), *report.requests.values()) for one in several if one is not None]
    others: dict[str, str] = {}
    for figure in dict.fromkeys(figures):
        found = _NUMBER.search(figure.rpartition(": ")[2])
        fixed = {str(word) for words in report.words.values() for word in words}
        if found is not None and len(re.sub(r"\D", "", found[0])) > 2 and found[0] not in fixed and " " not in figure.split(".")[0]:
            digit = str(rng.randrange(1, 9))
            others[found[0]] = found[0][:-1] + (digit if found[0][-1] != digit else "9")
    others = {one: other for one, other in others.items() if other not in others and other not in text}

    def made(whole: str) -> str:
        return re.sub(r"(?<![\d.])\d[\d.]*\d(?![\d]|\.\d)", lambda found: others.get(found[0], found[0]), whole)

    def several(table: Mapping[str, list[str | None]]) -> dict[str, list[str | None]]:
        return {key: [made(one) if one is not None else one for one in figures] for key, figures in table.items()}

    return made(text), replace(
        report, gauges={gauge: [made(one) for one in figures] for gauge, figures in report.gauges.items()}, requests=several(report.requests)
    )


def _other_names(rng: random.Random, text: str, report: Report) -> str:
    for name in report.names:
        letters = "".join(rng.choice("abcdef0123456789") if one in "abcdef0123456789" and place > 2 else one for place, one in enumerate(name))
        if name.isdecimal():
            letters = str(rng.randrange(10 ** (len(name) - 1), 10 ** len(name)))
        elif re.fullmatch(r"[0-9a-f]{4,}", name):
            letters = "".join(rng.choice("abcdef0123456789") for _ in name)
        text = text.replace(name, letters)
    return text


def _other_order(rng: random.Random, text: str, report: Report) -> tuple[str, Report]:
    """Return a text with lines whose order is of no meaning in another one: what is read off is the same, in that order."""
    first, last = report.loose
    if last - first < 2:
        return text, report
    lines = text.split("\n")
    part = lines[first:last]
    rng.shuffle(part)
    lines[first:last] = part
    whole = "\n".join(lines)
    gauges = {gauge: sorted(figures, key=lambda one: _place(whole, one)) if len(figures) > 1 else figures for gauge, figures in report.gauges.items()}
    return whole, replace(report, gauges=gauges)


def _place(text: str, figure: str) -> int:
    label, _, _ = figure.partition(": ")
    return text.find(label)
