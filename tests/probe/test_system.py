"""What the system tells: addresses, processes, their bytes, the machine's, and a log's tail."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kvlab.allocator.process_bytes import ProcessBytes, read_linux
from kvlab.errors import BadValue
from kvlab.probe import system_bytes
from kvlab.probe.address import parse_address
from kvlab.probe.log_tail import MOST, LogTail
from kvlab.probe.processes import SystemProcesses
from kvlab.probe.system_bytes import categories

LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="needs Linux")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("localhost", "http://localhost:11434"),
        ("http://localhost/ollama/", "http://localhost:11434/ollama"),
        ("[::1]:1", "http://[::1]:1"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("127.5.6.7", "http://127.5.6.7:11434"),
    ],
)
def test_addresses_of_this_machine(given: str, meant: str) -> None:
    assert str(parse_address(given)) == meant
    assert parse_address(given).is_here


@pytest.mark.parametrize("url", ["http://192.168.0.4:11434", "example.net", "http://localhost.example.net", "http://[2001:db8::1]"])
def test_another_machine_has_to_be_meant(url: str) -> None:
    with pytest.raises(BadValue, match="another machine"):
        parse_address(url)
    assert not parse_address(url, elsewhere=True).is_here


@pytest.mark.parametrize("url", ["", "http://", "ftp://127.0.0.1", "http://127.0.0.1:99999", "http://127.0.0.1?x=1", "http://[::1", "file:///etc/hosts"])
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(BadValue):
        parse_address(url, elsewhere=True)


def test_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(BadValue) as met:
        parse_address("http://me:secret@127.0.0.1")
    assert "secret" not in str(met.value)


CHILD = "import sys; print('up', flush=True); sys.stdin.read()"
PARENT = f"""
import os, socket, subprocess, sys
listener = socket.create_server(("127.0.0.1", 0))
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(listener.getsockname()[1], child.pid, flush=True)
sys.stdin.readline()
child.stdin.close()
os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
print("child ended", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process that listens and has a child."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@LINUX
def test_runners_are_found_by_parentage_and_a_zombie_is_gone(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    assert parent.stdin is not None
    port, child = map(int, parent.stdout.readline().split())
    processes = SystemProcesses(port)
    family = processes.family()
    assert family.server is not None
    assert (family.server.pid, family.server.ppid) == (parent.pid, os.getpid())
    assert [(one.pid, one.ppid) for one in family.runners] == [(child, parent.pid)]
    assert family.holders == family.runners
    assert SystemProcesses(1, pid=parent.pid).family() == family
    parent.stdin.write("end it\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "child ended\n"
    after = processes.family()
    assert after.runners == ()
    assert after.holders == (after.server,)


def test_nobody_listens() -> None:
    family = SystemProcesses(port=1).family()
    assert family.server is None
    assert family.holders == ()


def test_a_pid_that_is_not_there() -> None:
    assert SystemProcesses(1, pid=2**22 + 5).family().server is None


def test_smaps_rollup(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    text = "5581-7ffd ---p 00000000 00:00 0    [rollup]\nRss:      3000 kB\nPss:   2500 kB\nAnonymous:      2000 kB\nSwap:       500 kB\nSwapPss:  500 kB\n"
    (tmp_path / "7" / "smaps_rollup").write_text(text)
    read = read_linux(7, tmp_path)
    assert (read.resident, read.anonymous, read.mapped, read.swapped, read.footprint) == (3000 * 1024, 2000 * 1024, 1000 * 1024, 500 * 1024, 2500 * 1024)


@LINUX
def test_this_process() -> None:
    read = system_bytes.process_reader()(os.getpid())
    assert read.resident is not None
    assert read.footprint is not None
    assert read.footprint > 0
    assert read.resident == (read.anonymous or 0) + (read.mapped or 0)


def test_a_process_that_is_gone_holds_nothing_that_is_known() -> None:
    assert read_linux(2**22 + 5) == ProcessBytes()


FOOTPRINT = """\
======================================================================
ollama [4242]: 64-bit    Footprint: 23 GB (16384 bytes per page)
======================================================================
  Dirty      Clean  Reclaimable    Regions    Category
    ---        ---          ---        ---    ---
  22 GB        0 B          0 B        311    IOAccelerator (graphics)
 274 MB        0 B        16 MB         40    MALLOC_LARGE
    0 B    1100 MB          0 B          9    mapped file
Auxiliary data:
    phys_footprint: 23 GB
    phys_footprint_peak: 27 GB
"""
VMMAP = """\
Process:         ollama [4242]
Physical footprint:         13.7G
Physical footprint (peak):  14.0G
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FOOTPRINT, (23 * 2**30, 2**30)),
        (VMMAP, (round(13.7 * 2**30), round(2**30 / 10))),
        ("    phys_footprint: 24696061952 B\n", (24696061952, 0)),
        ("nothing of the kind", None),
        ("", None),
    ],
)
def test_physical_footprint(text: str, found: tuple[int, int] | None) -> None:
    assert system_bytes.footprint_in(text) == found


def test_macos_asks_vmmap_where_footprint_fails() -> None:
    asked: list[str] = []

    def run(words: Sequence[str]) -> str:
        asked.append(words[0])
        return VMMAP if words[0] == "vmmap" else ""

    assert system_bytes.read_macos_process(os.getpid(), run).footprint == round(13.7 * 2**30)
    assert asked == ["footprint", "footprint", "vmmap"]


def test_categories_of_a_footprint() -> None:
    found = {(event.gauge, event.label): event.observed for event in categories(FOOTPRINT, 4242)}  # pyright: ignore[reportAttributeAccessIssue]
    assert found["dirty", "IOAccelerator (graphics)"] == 22 * 2**30
    assert found["clean", "mapped file"] == 1100 * 2**20
    assert found["reclaimable", "MALLOC_LARGE"] == 16 * 2**20


def test_machine_of_macos() -> None:
    vm_stat = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:                 120034.\n"
        '"Translation faults":          12.\nSwapins:                            10.\nSwapouts:                                  44120.\n'
    )
    told = {"vm_stat": vm_stat, "memory_pressure": "System-wide memory free percentage: 31%\n"}
    read = system_bytes.read_macos_machine(lambda words: told[words[0]])
    assert (read.swapped_in, read.swapped_out, read.free_share) == (10 * 16384, 44120 * 16384, 0.31)
    bare = system_bytes.read_macos_machine(lambda _: "")
    assert (bare.swapped_in, bare.swapped_out, bare.free_share) == (None, None, None)
    assert bare.available is not None


def test_pressure_of_linux(tmp_path: Path) -> None:
    pressure = tmp_path / "memory"
    pressure.write_text("some avg10=12.50 avg60=1.00 avg300=0.00 total=9\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=1\n")
    assert system_bytes.read_linux_machine(pressure).pressure_share == 0.125
    assert system_bytes.read_linux_machine(tmp_path / "none").pressure_share is None


def test_tail_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"old\n")
    tail = LogTail(path)
    assert tail.new_lines() == []
    with path.open("ab") as log:
        log.write(b"one\ntw")
    assert tail.new_lines() == [b"one"]
    with path.open("ab") as log:
        log.write(b"o\nthree\n")
    assert tail.new_lines() == [b"two", b"three"]


def test_tail_of_a_log_that_is_cut_replaced_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"long enough\n")
    tail = LogTail(path)
    path.write_bytes(b"new\n")
    assert tail.new_lines() == [b"new"]
    path.rename(tmp_path / "server-1.log")
    assert tail.new_lines() == []
    path.write_bytes(b"a whole new file\n")
    assert tail.new_lines() == [b"a whole new file"]


def test_tail_of_a_log_that_grows_too_fast(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"")
    tail = LogTail(path)
    path.write_bytes(b"x" * 99 + b"\n" + b"y" * MOST + b"\nlast\n")
    lines = tail.new_lines()
    assert lines == [b"last"]
    assert tail.left_out == 100 + 1 + 5
