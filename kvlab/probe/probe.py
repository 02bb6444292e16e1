"""Probe: a live Ollama, or any server of its API, seen from outside: one sample, a watch, or a workload, each a Recording with source `probe`.

    probe = kvlab.Probe("http://127.0.0.1:11434")
    probe.look()                                   # a Recording of one sample
    probe.watch(600)                               # samples for ten minutes; Ctrl-C ends it
    rec = probe.run("unrelated:15")                # sends requests, a row each

Nothing is sent anywhere but to that server, nothing is unloaded unless the workload says so, nothing is restarted unless you allow the command
as well, prompts and answers are stored only with `store_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tqdm.auto import tqdm

from kvlab.errors import BadValue, NotAvailable
from kvlab.events import Event, LifeSign, Warned
from kvlab.probe.address import DEFAULT_URL, parse_address
from kvlab.probe.connection import Trouble
from kvlab.probe.log_tail import LogEvents, LogTail, usual_log
from kvlab.probe.monitor import Monitor
from kvlab.probe.processes import NoProcesses, Processes, SystemProcesses
from kvlab.probe.restarting import WAIT_S, Prompt, Restart, Restarting, prompt_on_terminal, restart_by
from kvlab.probe.rows import never_answered
from kvlab.probe.sample import Sample, Sampler
from kvlab.probe.sending import SendOptions
from kvlab.probe.server import QUICK_S, SILENCE_S, Server
from kvlab.probe.system_bytes import ReadsMachine, ReadsProcess, machine_reader, process_reader
from kvlab.probe.unloading import WAYS, Stop, Unloading, can_stop, ollama_stop
from kvlab.probe.workload_run import Bounds, WorkloadRun
from kvlab.probe.writer import SOURCE, Clock, EventWriter, SystemClock
from kvlab.recording import Manifest, Recorder, Recording, load
from kvlab.workloads import Request, Workload, resolve

EVERY_S = 2.0
"""Seconds between two samples of a watch."""

LONGEST_S = 7 * 24 * 3600.0
"""Seconds that a watch or a run may last."""


class Probe:
    """Samples one server.

    Attributes:
        server: The calls that are made.
        model: The model of a workload's requests; "" for the one that is loaded, or the only one there is.
        recording: The last recording, also of a run that was interrupted; None before the first.

    Example:
        >>> import kvlab
        >>> from kvlab.probe.stand_in import stand_in
        >>> with stand_in() as url:
        ...     recording = kvlab.Probe(url).run("unrelated:2", progress=False)
        >>> recording.requests["label"].to_list()
        ['question 1', 'question 2']
    """

    def __init__(  # noqa: PLR0913  each bound by name
        self,
        url: str = DEFAULT_URL,
        *,
        pid: int | None = None,
        model: str = "",
        read_only: bool = False,
        elsewhere: bool = False,
        log: str | Path | None = None,
        quick_s: float = QUICK_S,
        silence_s: float = SILENCE_S,
        clock: Clock | None = None,
        processes: Processes | None = None,
        process_bytes: ReadsProcess | None = None,
        machine_bytes: ReadsMachine | None = None,
        stop: Stop = ollama_stop,
        prompt: Prompt = prompt_on_terminal,
    ) -> None:
        """Prepare a probe; nothing is sent yet.

        Args:
            url: The server.
            pid: Its process; by default the one that listens on the server's port.
            model: The model of a workload's requests.
            read_only: Read the server's version and lists and send nothing else.
            elsewhere: The server may be another machine, whose processes cannot be seen.
            log: The server's log, read as it grows; by default Ollama's usual one, where the server is Ollama's usual one.
            quick_s: Seconds in which lists have to come.
            silence_s: Seconds that the server may be silent during a request.
            clock: The time it goes by.
            processes: What finds the server's processes.
            process_bytes: What reads a process.
            machine_bytes: What reads the machine.
            stop: What runs `ollama stop`.
            prompt: What shows the user what to do by hand.

        Raises:
            BadValue: the address or the log cannot be used.
        """
        address = parse_address(url, elsewhere=elsewhere)
        self.server = Server(address, read_only=read_only, quick_s=quick_s, silence_s=silence_s)
        self.model = model
        self.recording: Recording | None = None
        self._clock: Clock = clock or SystemClock()
        self._processes: Processes = processes or (SystemProcesses(address.port, pid) if address.is_here else NoProcesses())
        self._process_bytes = process_bytes or process_reader()
        self._machine_bytes = machine_bytes or machine_reader()
        self._stop = stop
        self._prompt = prompt
        self._log = _log(log) if log is not None else (usual_log() if str(address) == DEFAULT_URL else None)

    def look(self, out: str | None = None) -> Recording:
        """Take one sample and return the recording of it."""
        return self.watch(0, out=out)

    def samples(self, every: float = EVERY_S) -> Iterator[Sample]:
        """Take a sample each `every` seconds and record nothing."""
        sampler = self._sampler()
        while True:
            yield sampler.take()
            self._clock.wait(every)

    def watch(
        self, seconds: float, *, every: float = EVERY_S, out: str | None = None, progress: bool = False, each: Callable[[Event], None] | None = None
    ) -> Recording:
        """Take a sample each `every` seconds for `seconds`; an interruption from the keyboard ends it well.

        Raises:
            BadValue: the times cannot be used.
            UnreadableInput: `out` cannot be written.
        """
        _time("the length of a watch", seconds, least=0)
        _time("the time between two samples", every, least=0.05)

        def work(monitor: Monitor, writer: EventWriter) -> None:
            del writer
            begun = self._clock.now()
            monitor.sample()
            with suppress(KeyboardInterrupt), tqdm(total=round(seconds), desc="watch", unit="s", disable=not progress) as bar:
                while (gone := self._clock.now() - begun) < seconds:
                    bar.update(round(gone) - bar.n)
                    self._clock.wait(min(every, seconds - gone))
                    monitor.sample()

        return self._recorded(work, workload="watch", model=self._first_listed(), out=out, store_text=False, each=each, own_requests=False)

    def run(  # noqa: PLR0913  each bound by name
        self,
        workload: Workload | Request | str,
        *,
        requests: int | None = None,
        seconds: float = 3600.0,
        context: int = 0,
        keep_alive: str = "",
        unload_by: str = "api",
        restart: str | Restart | None = None,
        restart_wait_s: float = WAIT_S,
        store_text: bool = False,
        out: str | None = None,
        progress: bool = True,
        each: Callable[[Event], None] | None = None,
    ) -> Recording:
        """Run a workload against the server; return a recording with a row a request. The time that a user thinks between two requests is skipped.

        Args:
            workload: A workload, its name (`unrelated:15`, `A1`), a case file, or one request.
            requests: Requests at most.
            seconds: Seconds at most.
            context: The context length (`num_ctx`) of the requests; 0 leaves it to the server. With some engines another length loads the model again.
            keep_alive: How long the model stays loaded after a request, such as `10m` or `-1`; "" leaves it to the server.
            unload_by: How a workload's unload is done: `api` (a call with keep_alive 0) or `stop` (the command `ollama stop`).
            restart: The command that a workload's restart of the server may run; without one the user is prompted to do it by hand.
            restart_wait_s: Seconds in which the server has to be back, another process; 0 leaves out a restart by hand.
            store_text: Keep prompts and answers.
            out: Where the recording is stored.
            progress: Show a progress bar.
            each: Called with every event as it happens.

        Raises:
            BadValue: a bound or the workload cannot be used, or which model is meant is not clear.
            NotAvailable: this probe only reads, or the workload cannot be sent to a server.
            UnreadableInput: `out` cannot be written.
            KeyboardInterrupt: from the keyboard; `recording` holds what was recorded until then.
        """
        if self.server.read_only:
            raise NotAvailable(
                what="this probe only reads", why="a workload sends the server requests", hint="leave out --read-only (in Python: read_only=True)"
            )
        _time("the bound of seconds", seconds, least=0)
        _time("the wait for a restart", restart_wait_s, least=0)
        if unload_by not in WAYS:
            raise BadValue(what=f"there is no way {unload_by!r} to unload", why=f"the ways are {', '.join(WAYS)}", hint="write api or stop")
        if requests is not None and requests < 1:
            raise BadValue(what=f"the bound is {requests} requests", why="it must be at least 1", hint="leave the bound out for all of the workload")
        restarts = restart_by(restart) if isinstance(restart, str) else restart
        work_load = _workload(workload)
        model, trouble = self._model()

        def work(monitor: Monitor, writer: EventWriter) -> None:
            if trouble is not None:
                monitor.sample()
                writer.write(Warned(message="no request was sent: the server does not list its models"))
                return
            unloading = Unloading(self.server, monitor, writer, self._stop)
            restarting = Restarting(monitor, writer, restarts, self._prompt, restart_wait_s)
            ways = {"unload": unload_by} | ({"stop": "stop"} if can_stop(self._stop) else {})
            run = WorkloadRun(self.server, monitor, writer, unloading, restarting, ways)
            most = len(work_load) if requests is None else min(requests, len(work_load))
            with tqdm(total=most, desc=work_load.name, unit="request", disable=not progress) as bar:
                run.run(work_load, SendOptions(model, context, keep_alive), Bounds(requests, seconds), bar.update)

        return self._recorded(work, workload=work_load.name, model=model, out=out, store_text=store_text, each=each, own_requests=True)

    def _recorded(
        self,
        work: Callable[[Monitor, EventWriter], None],
        *,
        workload: str,
        model: str,
        out: str | None,
        store_text: bool,
        each: Callable[[Event], None] | None,
        own_requests: bool,
    ) -> Recording:
        version = ""
        sign = LifeSign(state="answering", message="the server answers")
        try:
            version = self.server.version()
        except Trouble as met:
            sign = LifeSign(state=met.state, seconds=met.seconds, message=f"the version: {met.message}")
        where = "this machine" if self.server.address.is_here else "another machine"
        origin = {"server_version": version, "server": where, "port": self.server.address.port}
        manifest = Manifest.now(model=model or "unknown", origin=origin, workload=workload, source=SOURCE, stored_text=store_text)
        recorder = Recorder(manifest, out=out, store_text=store_text)
        writer = EventWriter(recorder, self._clock, each)
        monitor = Monitor(self._sampler(), writer, self._log_events(), own_requests=own_requests)
        try:
            with recorder:
                writer.write(sign)
                try:
                    work(monitor, writer)
                except KeyboardInterrupt:
                    writer.write(Warned(message="interrupted from the keyboard"))
                    raise
                self.recording = recorder.close(worth=lambda made: not never_answered(made))
        except BaseException:
            # what was recorded until here is kept, and says itself that it was cut short
            if recorder.path.exists():
                self.recording = load(recorder.path)
            raise
        return self.recording

    def _sampler(self) -> Sampler:
        return Sampler(self.server, self._processes, self._process_bytes, self._machine_bytes, self._clock)

    def _log_events(self) -> Callable[[], list[Event]]:
        return LogEvents(LogTail(self._log)) if self._log is not None else list

    def _first_listed(self) -> str:
        with suppress(Trouble):
            listed = self.server.listed()
            return listed[0].name if listed else ""
        return ""

    def _model(self) -> tuple[str, Trouble | None]:
        """Return the model of the requests, and why the server did not list it."""
        if self.model:
            return self.model, None
        try:
            names = tuple(model.name for model in self.server.listed()) or self.server.installed()
        except Trouble as trouble:
            return "", trouble
        if len(names) == 1:
            return names[0], None
        raise BadValue(
            what="the model is ambiguous" if names else "the server has no model",
            why=f"it has {', '.join(names[:20])}" if names else "it lists none, loaded or installed",
            hint="name one with --model (in Python: model=...)",
        )


def _workload(given: Workload | Request | str) -> Workload:
    if isinstance(given, Request):
        return Workload(name=given.label or "request", requests=(given,))
    return resolve(given) if isinstance(given, str) else given


def _log(path: str | Path) -> Path:
    found = Path(path).expanduser()
    if not found.is_file():
        raise BadValue(what=f"there is no log {str(path)!r}", why="the file is not there", hint="write for example --log ~/.ollama/logs/server.log")
    return found


def _time(what: str, seconds: float, *, least: float) -> None:
    if not least <= seconds <= LONGEST_S:
        raise BadValue(what=f"{what} of {seconds} s cannot be used", why=f"it is {least:g} s to {LONGEST_S:g} s", hint="write for example 600")
