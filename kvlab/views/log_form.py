"""A form for notebooks: drop a log, a table or a tool's output, and read what it says. Without a kernel or a browser nothing happens."""

# pyright: standard
from __future__ import annotations

from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import Any

import ipywidgets

from kvlab.errors import KvlabError, UnreadableInput
from kvlab.findings import Findings, diagnose
from kvlab.findings.checklist import checklist
from kvlab.importers import import_file
from kvlab.importers.account import Account
from kvlab.lab.shapes import shipped_names
from kvlab.recording import Recording, load
from kvlab.recording.facts import OWN
from kvlab.temporary import TemporaryFolder
from kvlab.views import report_parts
from kvlab.views.account_part import account_part
from kvlab.views.report_parts import checklist_part
from kvlab.views.shape_card_form import error_html

MOST_BYTES = 200 * 10**6
"""Bytes that a browser hands over at most; a longer log is read from its path."""


class LogForm:
    """The form's parts.

    Attributes:
        file: Where a file is dropped.
        shape: Where the model's shape is named, when the file does not name a model that kvlab knows.
        shown: Where the findings, or what is wrong, are shown.
        widget: All of them together.
        recording: What the last file was read into; None before the first.
        findings: What it says.
    """

    def __init__(self) -> None:
        self.file = ipywidgets.FileUpload(accept="", multiple=False, description="log or table")
        self.shape = ipywidgets.Combobox(
            value="", options=shipped_names(), placeholder="only if it is not recognised", description="model", continuous_update=False, ensure_option=False
        )
        self.shown = ipywidgets.HTML()
        self.widget = ipywidgets.VBox([ipywidgets.HBox([self.file, self.shape]), self.shown])
        self.recording: Recording | None = None
        self.findings: Findings | None = None
        self._account = Account()
        self.file.observe(self._dropped, "value")
        self.shape.observe(self._named, "value")

    def drop(self, name: str, content: bytes) -> None:
        """Read a file as if it had been dropped on the form."""
        try:
            self.recording, self._account = _read(name, content)
        except KvlabError as error:
            self.recording = self.findings = None
            self.shown.value = error_html(error)
        else:
            self._show()

    def _dropped(self, change: Mapping[str, Any]) -> None:
        for one in change["new"]:
            self.drop(str(one["name"]), bytes(one["content"]))

    def _named(self, change: Mapping[str, Any]) -> None:
        del change
        self._show()

    def _show(self) -> None:
        if self.recording is None:
            return
        try:
            self.findings = diagnose(self.recording, shape=self.shape.value.strip() or None)
        except KvlabError as error:
            self.shown.value = error_html(error)
            return
        own = self.recording.manifest.source in OWN
        checked = "" if own else checklist_part(checklist(self.recording, self.findings))
        self.shown.value = report_parts.findings_part(self.findings) + checked + account_part(self._account)


def log_form() -> LogForm:
    """Return the form; its `widget` is what a notebook shows, its `recording` and `findings` what came of the file."""
    return LogForm()


def _read(name: str, content: bytes) -> tuple[Recording, Account]:
    if len(content) > MOST_BYTES:
        raise UnreadableInput(
            what=f"{name} has {len(content):,} bytes",
            why=f"a form takes {MOST_BYTES:,} at most",
            hint="read it from its path: kvlab.read_ollama_log('server.log'), or kvlab diagnose server.log",
        )
    # a browser may hand over any text as a name
    plain = PureWindowsPath(name).name or "dropped"
    with TemporaryFolder() as folder:
        path = folder / plain
        path.write_bytes(content)
        if plain.endswith(".zip"):
            return load(path), Account()
        imported = import_file(path)
        return imported.recording, imported.account
