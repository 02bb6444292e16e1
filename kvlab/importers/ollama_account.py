"""What became of the figures of an Ollama log's records: they are read many at once, so a small log is looked through once more for its account."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kvlab.importers import ollama_names as names
from kvlab.importers.account import Account
from kvlab.importers.summary import KNOWN, NOT, READ

_RECORD = re.compile(r'(?:\bmsg="?|^)(?P<message>[^"=]{2,})')
_BARE = re.compile(r"\b(?P<message>cache (?:hit|miss)|peak memory|failed to restore cache)\b")
_ATTRIBUTE = re.compile(r'(?<=[\s:])(?P<name>[\w.]{1,60})[=:] ?"?(?P<value>-?\d[\d.,]*(?: ?[KMGT]?i?B\b)?)')
_NODE = re.compile(r"\[(?P<start>\d+),\s?(?P<end>\d+)\)(?: (?P<tokens>\d+)t)?(?:.*?snap=(?P<snapshot>[\d.]+ [KMGT]?i?B))?")
_GIN = re.compile(r"\[GIN\][^|]*\|\s*(?P<status>\d{3})\s*\|\s*(?P<seconds>\S+)\s*\|")
_MOMENT = re.compile(r"time=\S+")
_NAMES = {"total": "tokens", "size": "bytes", "processed": "tokens of the prompt that are done"}


_READ, _KNOWN = (tuple(begin.rstrip(": ") for begin in several) for several in (names.READ, (*names.KNOWN, *names.SILENT)))


def account_for(lines: Iterable[tuple[int, str]], account: Account) -> None:
    """Note the figures of records; lines that another reader noted stay as they are."""
    for number, text in lines:
        if account.has(number):
            continue
        if (moment := _MOMENT.match(text)) is not None:
            account.take(number, *moment.span(), "the record's moment")
        if (gin := _GIN.match(text)) is not None:
            for name in ("status", "seconds"):
                account.take(number, *gin.span(name), name)
            account.line(number, text, READ)
            continue
        message = _message(text)
        if is_read := message.startswith((*_READ, "|", "`")):
            _take(number, text, account)
        account.line(number, text, READ if is_read else KNOWN if message.startswith(_KNOWN) else NOT)


def _message(text: str) -> str:
    found = _RECORD.search(text, text.find("msg=")) if "msg=" in text else _BARE.search(text)
    return found["message"].strip() if found is not None else ""


def _take(number: int, text: str, account: Account) -> None:
    for match in _ATTRIBUTE.finditer(text, max(0, text.find("msg="))):
        account.take(number, *match.span("value"), _NAMES.get(match["name"], match["name"]))
    for match in _NODE.finditer(text):
        for name, shown in match.groupdict().items():
            if shown is not None:
                account.take(number, *match.span(name), f"a node's {name}")
