"""`kvlab lab`: JupyterLab on the notebooks, with the extension loaded."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from kvlab import shipped
from kvlab.cli import lab_startup
from kvlab.cli.command import Arguments

NAME = "lab"
ABOUT = "open JupyterLab on the notebooks, with the kvlab extension loaded"
EXAMPLE = "kvlab lab\nkvlab lab --no-browser --port 8890"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--folder", metavar="FOLDER", help="open this folder instead of kvlab's notebooks")
    parser.add_argument("--port", type=int, metavar="PORT", help="listen on this port")
    parser.add_argument("--no-browser", action="store_true", help="only start the server and print its address")


def run(args: Arguments) -> int:
    """Start JupyterLab and wait for it."""
    return subprocess.run(words(args), env=environment(), check=False).returncode


def words(args: Arguments) -> list[str]:
    """Return the command line of JupyterLab.

    Raises:
        NotAvailable: this installation has no notebooks and no folder was named.
    """
    folder = Path(args.folder) if args.folder else shipped.notebooks()
    told = [sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={folder.resolve()}"]
    # In a container the user is often root, and JupyterLab then refuses to start; it listens on loopback only.
    told += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    told += [f"--ServerApp.port={args.port}"] if args.port is not None else []
    return [*told, "--no-browser"] if args.no_browser else told


def environment() -> dict[str, str]:
    """Return the environment of JupyterLab: its kernels run `lab_startup.py` before anything else, then what the user had there."""
    before = os.environ.get("PYTHONSTARTUP", "")
    return os.environ | {"PYTHONSTARTUP": lab_startup.__file__, lab_startup.BEFORE: before}
