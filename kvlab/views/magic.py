"""What `%load_ext kvlab` adds to IPython's shell: the magic `%%kvlab_trace`, and trees for objects that have no view of their own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kvlab.cache.present import present
from kvlab.errors import BadValue
from kvlab.events import Event
from kvlab.lab.source import Source
from kvlab.recording import Manifest, Recording
from kvlab.views.dashboard.widget import dashboard
from kvlab.views.object_tree import SHOWN, tree, tree_html, tree_text


@dataclass(slots=True)
class Traced:
    """What happened.

    Attributes:
        source: The lab or twin.
        before: What its cache held before.
        events: What happened since; a run begins with an empty cache, so it begins them anew.
    """

    source: Source
    before: list[Event]
    events: list[Event] = field(default_factory=list[Event])

    def recording(self) -> Recording:
        """Return what happened as a recording."""
        made = Manifest.now(model=self.source.name, shape=self.source.shape, policy=self.source.policy, workload="one cell", source=self.source.source)
        return Recording.of(made, [*self.before, *self.events])


@contextmanager
def tracing(source: Source) -> Generator[Traced]:
    """Note every event of the requests that `source` steps or runs inside."""
    traced = Traced(source, present(source.cache, source.closing))
    step: Callable[..., Iterator[Event]] = source.step
    run: Callable[..., Recording] = source.run

    def stepped(*args: Any, **given: Any) -> Iterator[Event]:
        for event in step(*args, **given):
            traced.events.append(event)
            yield event

    def ran(*args: Any, each: Callable[[Event], None] | None = None, **given: Any) -> Recording:
        traced.before, traced.events = [], []

        def note(event: Event) -> None:
            traced.events.append(event)
            if each is not None:
                each(event)

        return run(*args, each=note, **given)

    shadows: dict[str, Any] = {"step": stepped, "run": ran}
    vars(source).update(shadows)
    try:
        yield traced
    finally:
        for name in shadows:
            del vars(source)[name]


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
