"""What `%load_ext kvlab` adds to IPython's shell: the magic `%%kvlab_trace`, and trees for objects that have no view of their own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kvlab.errors import BadValue
from kvlab.lab.source import Source
from kvlab.views.dashboard.widget import dashboard
from kvlab.views.object_tree import SHOWN, tree, tree_html, tree_text
from kvlab.views.tracing import tracing

MAGIC = "kvlab_trace"
TRACE = "kvlab_recording"
"""The variable that holds what the last traced cell did, unless the magic names another."""


def turn_on(ip: Any) -> None:
    """Add the magic and the trees to the shell `ip`."""

    def trace(line: str, cell: str) -> None:
        """Record what a lab or a twin does in this cell, and show it as a dashboard below.

        %%kvlab_trace LAB [NAME]

        LAB is the variable with the lab or the twin. The recording is kept in the variable NAME, or in `kvlab_recording`. What was in the
        cache before is shown too; prompts and replies are not kept. Example:

            %%kvlab_trace lab seen
            for event in lab.step("Why is the sky blue?"):
                pass
        """
        kvlab_trace(ip, line, cell)

    ip.register_magic_function(trace, "cell", MAGIC)
    formatter = ip.display_formatter.mimebundle_formatter
    for name in SHOWN:
        module, _, kind = name.rpartition(".")
        formatter.for_type_by_name(module, kind, _bundle)


def turn_off(ip: Any) -> None:
    """Take them away again."""
    ip.magics_manager.magics["cell"].pop(MAGIC, None)
    formatter = ip.display_formatter.mimebundle_formatter
    for name in SHOWN:
        module, _, kind = name.rpartition(".")
        # a class that was shown has moved from the names to the types
        formatter.deferred_printers.pop((module, kind), None)
        found = getattr(import_module(module), kind)
        formatter.type_printers.pop(found, None)


def kvlab_trace(ip: Any, line: str, cell: str) -> None:
    """Run a cell, record what the named lab or twin does in it, and show the dashboard below: `%%kvlab_trace lab` or `%%kvlab_trace lab name`.

    The recording is kept in `name`, or in `kvlab_recording`.

    Raises:
        BadValue: the line names no lab or twin.
    """
    name, _, kept = line.partition(" ")
    source = ip.user_ns.get(name.strip())
    if not isinstance(source, Source):
        raise BadValue(f"%%{MAGIC} {line}".rstrip(), "the magic needs the name of a lab or a twin", f"write for example %%{MAGIC} lab")
    with tracing(source) as traced:
        _run(ip, cell)
    if not traced.events:
        print(f"%%{MAGIC}: {name} ran nothing in this cell")  # noqa: T201  # the answer of a magic
        return
    recording = traced.recording()
    ip.user_ns[kept.strip() or TRACE] = recording
    import_module("IPython.display").display(dashboard(recording))


def _run(ip: Any, cell: str) -> None:
    """Run a cell as the shell does; its error is raised, and shown once: by the cell that holds the magic."""
    shown: list[list[str]] = []
    usual = ip._showtraceback  # noqa: SLF001  # the shell's hook for frontends; there is no other

    def keep(_kind: Any, _error: Any, lines: list[str]) -> None:
        shown.append(lines)

    ip._showtraceback = keep  # noqa: SLF001
    try:
        ran = ip.run_cell(cell)
    finally:
        ip._showtraceback = usual  # noqa: SLF001
    error = ran.error_before_exec or ran.error_in_exec
    if error is not None and shown:
        # as the inner cell would have shown it: without the frames of this magic
        error._render_traceback_ = lambda: shown[-1]
    ran.raise_error()


def _bundle(obj: Any, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    del include, exclude
    part = tree(obj)
    return {"text/plain": repr(obj)} if part is None else {"text/plain": tree_text(part), "text/html": tree_html(part)}
