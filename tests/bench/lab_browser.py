"""A real JupyterLab in headless Chromium: open a notebook and run its cells.

`LabServer` keeps its settings, kernels and workspace in its own folder, so a user's set-up is neither read nor changed.
`LabPage` notes every request that leaves this machine (none can: the browser resolves no names) and every console error.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, WebSocket, sync_playwright

from kvlab.errors import NotAvailable
from kvlab.studies.machine import find_browser

HOST = "127.0.0.1"
UP_WITHIN_S = 60
ROOT = Path(__file__).resolve().parents[2]
"""Where this kvlab lies."""

# no name resolves, so a chart that needs a CDN fails here; the rest keeps Chromium itself from calling out
BROWSER_ARGS = [
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOST}",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]

# no news (it asks on a pop-up), and every cell in the page, also those out of sight
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}

# a page says "idle" before the kernel's websocket is up, and a run asked for in between is dropped: wait for the connection
READY = """async () => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const session = panel?.sessionContext;
  if (!session) return false;
  await session.ready;
  await panel.context.ready;
  const kernel = session.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""

RUN_ONE = """number => {
  window.kvlabRan = null;
  window.jupyterapp.shell.currentWidget.content.activeCellIndex = number;
  window.jupyterapp.commands.execute('notebook:run-cell').then(() => { window.kvlabRan = true; }, () => { window.kvlabRan = false; });
}"""

FAILED = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell, number) => {
  if (cell.model.type !== 'code') return [];
  return cell.model.outputs.toJSON().filter(it => it.output_type === 'error').map(it => `cell ${number}: ${it.ename}: ${it.evalue}`);
})"""


@dataclass(frozen=True, slots=True)
class LabServer:
    """A running JupyterLab that serves one folder."""

    port: int
    token: str

    def url(self, notebook: str) -> str:
        """Return the address that opens `notebook` and no tab of an earlier visit."""
        return f"http://{HOST}:{self.port}/lab/tree/{quote(notebook)}?reset&token={self.token}"

    def answers(self) -> bool:
        """Tell whether the server is up."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/api?token={self.token}", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def lab_server(folder: Path, private: Path) -> Generator[LabServer]:
    """Run JupyterLab on `folder`; all that it keeps goes below `private`."""
    for plugin, settings in SETTINGS.items():
        path = private / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    # the kernel of this interpreter, not one that a user registered; kvlab from this checkout
    env = os.environ | {name: str(private / place) for name, place in places.items()} | {"JUPYTER_PREFER_ENV_PATH": "1"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    server = LabServer(_free_port(), secrets.token_hex(8))
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += [f"--ServerApp.ip={HOST}", f"--ServerApp.port={server.port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={server.token}", f"--ServerApp.root_dir={folder}"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly"]
    log_path = private / "lab.log"
    with log_path.open("w") as log, subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            deadline = time.monotonic() + UP_WITHIN_S
            while not server.answers():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise NotAvailable("JupyterLab did not start", log_path.read_text()[-3000:], "look at the log above")
                time.sleep(0.2)
            yield server
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@contextmanager
def chromium() -> Generator[Browser]:
    """Start a headless Chromium.

    Raises:
        NotAvailable: there is none.
    """
    path = find_browser()
    if path is None:
        raise NotAvailable("Chromium is not installed", "pages are drawn in a browser", "install the package chromium, or set KVLAB_CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=BROWSER_ARGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass  # no slots: Playwright notes handlers on the object that has them
class LabPage:
    """A notebook open in JupyterLab.

    Attributes:
        page: Playwright's page, for clicks and keys.
        external: Addresses asked for that are not on this machine.
        errors: What the browser's console calls an error.
        said: Messages to widgets in the kernel that the page sent, and those it got, as text.
    """

    page: Page
    external: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    said: dict[str, list[str]] = field(default_factory=lambda: {"sent": [], "got": []})

    def __post_init__(self) -> None:
        self.page.on("request", self._note_request)
        self.page.on("console", self._note_message)
        self.page.on("websocket", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, address: str, within_s: float = 90) -> None:
        """Open a notebook and wait until its kernel is connected and idle."""
        self.page.goto(address)
        self.page.locator(".jp-Notebook").wait_for(timeout=within_s * 1000)
        self.page.wait_for_function(READY, timeout=within_s * 1000)

    def run_cells(self, *numbers: int, within_s: float = 120) -> list[str]:
        """Run single cells, from 0, as Ctrl+Enter does; return the errors of cells."""
        for number in numbers:
            self.page.evaluate(RUN_ONE, number)
            self.page.wait_for_function("() => window.kvlabRan !== null", timeout=within_s * 1000)
        errors: list[str] = self.page.evaluate(FAILED)
        return errors

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((f"http://{HOST}:", f"ws://{HOST}:", "data:", "blob:")):
            self.external.append(request.url)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: self._note_frame("sent", frame))
        socket.on("framereceived", lambda frame: self._note_frame("got", frame))

    def _note_frame(self, way: str, frame: str | bytes) -> None:
        text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
        if '"comm_msg"' in text:
            self.said[way].append(text)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)
