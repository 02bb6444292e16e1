"""Call sites: which code asked for bytes, recorded when asked for, and never with a path of the machine."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from kvlab.lab import Twin, open_twin
from kvlab.lab.lab import Lab
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload

SHORT = Policy(prefill_chunk=8, capture_grid=16)
WORK = Workload("twice", tuple(Request(tokens=(*range(24), *range(100 * place, 100 * place + 20)), max_new=3) for place in (1, 2)))
MARKED = ("allocated", "snapshot_taken", "snapshot_owned")
LINE = re.compile(r"[\w<>./-]+:\d+ [\w<>.]+")


def ask(source: Lab | Twin, *, call_sites: bool) -> Recording:
    return source.run(WORK, progress=False, call_sites=call_sites)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab(random_llama(), SHORT)


@pytest.fixture(scope="module")
def sited(lab: Lab) -> Recording:
    return ask(lab, call_sites=True)


def _sites(recording: Recording, kind: str) -> list[tuple[str, ...]]:
    return [recording.call_site(seq) for seq in recording.events.filter(pl.col("kind") == kind)["seq"]]


def test_off_no_event_has_one_and_nothing_else_differs(lab: Lab, sited: Recording) -> None:
    plain = ask(lab, call_sites=False)
    assert plain.events["call_site"].null_count() == plain.events.height
    assert plain.spans["call_site"].null_count() == plain.spans.height
    told = ("call_site", "t", "seconds", "ttft_s", "prefill_s", "decode_s", "peak", "active", "pool", "unattributed", "outside", "footprint")
    assert plain.events.drop(told).equals(sited.events.drop(told))


def test_on_every_event_that_takes_bytes_has_one_and_no_other(sited: Recording) -> None:
    has = sited.events.select("kind", pl.col("call_site").is_not_null())
    assert set(has.filter("call_site")["kind"]) == set(MARKED)
    assert has.filter(pl.col("kind").is_in(MARKED))["call_site"].all()


def test_it_names_what_captured_a_snapshot_and_who_asked(sited: Recording) -> None:
    taken = _sites(sited, "snapshot_taken")
    captured = [site for site in taken if any(line.endswith(" Captures.hold") for line in site)]
    assert captured
    for site in captured:
        functions = [line.split(" ")[1] for line in site]
        assert functions[0] == "KVLayers._lazy"
        assert functions.index("Captures.hold") < functions.index("Runner._prefill") < functions.index("Source.run")
        assert re.fullmatch(r"tests/lab/test_call_sites\.py:\d+ ask", site[-1])
    paged_out = [site for site in taken if any(line.endswith(" Paging.page_out") for line in site)]
    assert paged_out
    assert not set(paged_out) & set(captured)


def test_the_line_is_that_of_the_call(sited: Recording) -> None:
    for site in _sites(sited, "snapshot_taken"):
        for line in site:
            file, number = line.split(" ")[0].rsplit(":", 1)
            assert (Path(__file__).parents[2] / file).read_text().splitlines()[int(number) - 1].strip()


def test_bookkeeping_is_not_taken_for_who_asked(sited: Recording) -> None:
    for kind in MARKED:
        for line in (line for site in _sites(sited, kind) for line in site):
            assert not line.startswith(("kvlab/allocator/", "kvlab/events/", "kvlab/layers/registry.py"))


def test_a_snapshot_that_was_copied_out_names_what_copied_it(sited: Recording) -> None:
    spans = sited.spans.filter(pl.col("state") == "owned")
    owned = sited.events.filter(pl.col("kind") == "snapshot_owned")
    assert set(spans.join(owned, left_on="born", right_on="seq")["call_site"]) == set(owned["call_site"])
    taken = sited.spans.unique("snapshot", keep="first", maintain_order=True)
    assert taken["call_site"].to_list() == sited.events.filter(pl.col("kind") == "snapshot_taken")["call_site"].to_list()


def test_no_path_of_the_machine_is_told(sited: Recording) -> None:
    lines = {line for kind in MARKED for site in _sites(sited, kind) for line in site}
    assert lines
    assert all(LINE.fullmatch(line) for line in lines)
    assert not any(line.startswith(("/", "~", ".")) for line in lines)
    for part in (Path.home(), Path.cwd(), Path(__file__).parents[2]):
        assert not any(str(part) in line for line in lines)


def test_a_step_after_such_a_run_records_none(lab: Lab) -> None:
    ask(lab, call_sites=True)
    assert all(getattr(event, "call_site", None) is None for event in lab.step(Request(tokens=(1, 2, 3), max_new=1)))


def test_a_long_run_of_the_twin_tells_each_piece() -> None:
    twin = open_twin(["kv"])
    long = Workload("long", tuple(Request(tokens=(place,) * 3, max_new=1) for place in range(1, 502)))
    recording = twin.run(long, progress=False, call_sites=True)
    assert recording.events.filter((pl.col("kind") == "allocated") & (pl.col("owner") == "snapshots")).height
    assert recording.events.filter(pl.col("kind").is_in(MARKED))["call_site"].null_count() == 0


def _asked_by(source: str, file: Path, module: str) -> set[str]:
    """Return the outermost lines of a run that code of the user asked for, from `file`, as `module`."""
    twin = open_twin(["kv"])
    names = {"__name__": module, "run": lambda: twin.run, "work": WORK}
    exec(compile(source, str(file), "exec"), names)  # noqa: S102 - the only way to code whose file is called as another machine would call it
    return {site[-1] for kind in MARKED for site in _sites(names["recording"], kind)}  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("file", "module", "told"),
    [
        ("/people/anna/secret/mine.py", "__main__", "mine.py:2"),
        ("/people/anna/secret/mine.py", "mine", "mine.py:2"),
        ("/people/anna/shop/__init__.py", "shop", "shop/__init__.py:2"),
        ("/people/anna/shop/till/sells.py", "shop.till.sells", "shop/till/sells.py:2"),
        ("/people/anna/elsewhere/sells.py", "shop.till.sells", "sells.py:2"),
        ("/var/folders/ipykernel_77/3512.py", "__main__", "cell:2"),
        ("<stdin>", "__main__", "<stdin>:2"),
    ],
)
def test_code_of_the_user_is_named_from_its_package_on(file: str, module: str, told: str) -> None:
    source = "def ask(run):\n    return run(work, progress=False, call_sites=True)\nrecording = ask(run())\n"
    assert _asked_by(source, Path(file), module) == {f"{told} ask"}


def test_packages_of_others_are_left_out() -> None:
    source = "recording = run()(work, progress=False, call_sites=True)\n"
    for file in ("/usr/lib/python3/dist-packages/other/calls.py", "/opt/env/lib/python3.11/site-packages/other/calls.py"):
        (line,) = _asked_by(source, Path(file), "other.calls")
        assert re.fullmatch(r"tests/lab/test_call_sites\.py:\d+ _asked_by", line)
