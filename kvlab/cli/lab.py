"""`kvlab lab`: JupyterLab on the notebooks, with the extension loaded."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from kvlab import shipped
from kvlab.cli import lab_startup
from kvlab.errors import BadValue
from kvlab.temporary import TemporaryFolder

ABOUT = "open JupyterLab on the notebooks, with the kvlab extension loaded"
EXAMPLE = "kvlab lab\nkvlab lab --no-browser --port 8890"

_QUIET = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
"""Settings that keep JupyterLab from fetching its own news, and from offering to."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--folder", metavar="FOLDER", help="open this folder instead of kvlab's notebooks")
    parser.add_argument("--port", type=int, metavar="PORT", help="listen on this port")
    parser.add_argument("--no-browser", action="store_true", help="only start the server and print its address")


def run(args: argparse.Namespace) -> int:
    """Start JupyterLab and wait for it; whatever ends this program ends the server too."""
    line = server_command(args)
    with TemporaryFolder() as settings:
        return _served(line, environment(quiet_settings(settings)))


def quiet_settings(folder: Path) -> Path:
    """Write JupyterLab's settings without its news into `folder`, a folder of Jupyter's configuration; return it."""
    path = folder / "labconfig" / "default_setting_overrides.json"
    path.parent.mkdir()
    path.write_text(json.dumps(_QUIET), encoding="utf-8")
    return folder


def _served(line: list[str], variables: dict[str, str]) -> int:
    server = subprocess.Popen(line, env=variables)
    try:
        return server.wait()
    finally:
        if server.poll() is None:
            # on this signal the server ends its kernels
            server.terminate()
            server.wait()


def server_command(args: argparse.Namespace) -> list[str]:
    """Return the command line of JupyterLab.

    Raises:
        BadValue: the folder is not there, or no server can listen on the port.
        NotAvailable: this installation has no notebooks and no folder was named.
    """
    folder = Path(args.folder) if args.folder else shipped.notebooks()
    if not folder.is_dir():
        raise BadValue(what=f"there is no folder {str(folder)!r}", why="JupyterLab opens a folder that exists", hint="name another --folder, or none")
    if args.port is not None and not 0 <= args.port <= 2**16 - 1:
        raise BadValue(what=f"no server can listen on port {args.port}", why="ports are 1 to 65535 (0: any free one)", hint="write for example --port 8890")
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={folder.resolve()}"]
    # In a container the user is often root, and JupyterLab then refuses to start; it listens on loopback only.
    command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command += [f"--ServerApp.port={args.port}"] if args.port is not None else []
    return [*command, "--no-browser"] if args.no_browser else command


def environment(settings: Path | None = None) -> dict[str, str]:
    """Return the environment of JupyterLab: its kernels run `lab_startup.py` before anything else, then what the user had there.

    `settings` is one more folder of Jupyter's configuration; the user's own come first.
    """
    before = os.environ.get("PYTHONSTARTUP", "")
    ours = os.environ | {"PYTHONSTARTUP": lab_startup.__file__, lab_startup.BEFORE: before}
    if settings is None:
        return ours
    return ours | {"JUPYTER_CONFIG_PATH": os.pathsep.join([*filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")]), str(settings)])}
