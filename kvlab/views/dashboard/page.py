"""The page's code, joined from the files of `kvlab/views/page`: one module for Jupyter, one script for a report. There is no bundler."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

PARTS = (
    "core",
    "axis",
    "scene",
    "request_facts",
    "token_text",
    "live_buffers",
    "bytes_steps",
    "bytes_held",
    "outline_sizes",
    "outline",
    "overview_lines",
    "overview",
    "spans",
    "bytes",
    "token_strip",
    "requests",
    "jumps",
    "controls",
    "details",
    "finder",
    "dashboard",
)
"""The files of the dashboard, those first that others use."""


@cache
def read(name: str) -> str:
    """Return a file of `kvlab/views/page` as text."""
    return (files("kvlab.views") / "page" / name).read_text(encoding="utf-8")


def joined(*names: str) -> str:
    """Return scripts of `kvlab/views/page` as one."""
    return "\n".join(read(f"{name}.js") for name in names)


@cache
def parts() -> str:
    """Return the dashboard's functions, with nothing that starts them."""
    return joined(*PARTS)


def module() -> str:
    """Return the module that anywidget runs."""
    return parts() + "\n" + read("widget.js")


def style() -> str:
    """Return the dashboard's style sheet."""
    return read("dashboard.css")
