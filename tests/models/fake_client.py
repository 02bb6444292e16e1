"""A package client without a network: fake_client.py CALLS MEMBER INTO MODE [MORE].

Modes: `wheel HEX` and `folder HEX` deliver; `fail TEXT` says TEXT and fails; `hang READY` leaves half a file, says so through the
named pipe READY and stays until it is killed; `wait READY GO HEX` says it is there, and delivers when GO is opened.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path


def main(calls: str, member: str, into: str, mode: str, *more: str) -> int:
    with Path(calls).open("a") as log:
        log.write(f"{member}\n")
    if mode == "fail":
        sys.stdout.write(f"ERROR: {more[0]}\n")
        return 1
    if mode == "hang":
        (Path(os.environ["TMPDIR"]) / "half.whl").write_bytes(b"half")
        Path(more[0]).write_text(str(os.getpid()))
        sys.stdin.read()
        # stdin is empty: block for ever on a pipe that nobody writes to
        reading, _ = os.pipe()
        os.read(reading, 1)
    if mode == "wait":
        Path(more[0]).write_text("ready")
        Path(more[1]).read_text()
        more = more[2:]
    content = bytes.fromhex(more[0])
    if mode == "folder":
        target = Path(into) / member
        target.parent.mkdir(parents=True)
        target.write_bytes(content)
    else:
        with zipfile.ZipFile(Path(into) / "made_up-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, content)
    return 0


sys.exit(main(*sys.argv[1:]))
