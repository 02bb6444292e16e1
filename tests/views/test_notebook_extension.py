"""`%load_ext kvlab` in a real IPython shell: trees of live objects, and a traced cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import kvlab
from kvlab import notebook
from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.views.dashboard.widget import Dashboard
from kvlab.views.object_tree import MOST, Part, tree, tree_html, tree_text


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(display_pub_class=CapturingDisplayPublisher)
    notebook.load_ipython_extension(made)
    yield made
    notebook.unload_ipython_extension(made)
    InteractiveShell.clear_instance()


def shown(shell: Any, obj: Any) -> Any:
    return shell.display_formatter.format(obj)


def paths(part: Part) -> Iterator[str]:
    if part.path:
        yield part.path
    for one in part.below:
        yield from paths(one)


def busy() -> Any:
    twin = kvlab.twin(["recurrent", "kv"])
    for request in kvlab.workloads.unrelated(3).requests:
        for _ in twin.step(request):
            pass
    return twin


def test_every_path_of_a_tree_leads_to_what_it_says() -> None:
    cache = busy().cache
    for obj in (cache, cache.layers[0], cache.policy, cache.trie.root):
        part = tree(obj)
        assert part is not None
        for path in paths(part):
            eval(f"obj{path}", {"obj": obj})  # noqa: S307  # a path that can be copied is one that Python takes


def test_a_tree_is_text_and_html_that_folds() -> None:
    part = tree(busy().cache)
    assert part is not None
    text = tree_text(part)
    assert text.startswith("PrefixCache: ")
    assert ".layers[1]  Layer of kind kv: rewinds to any offset" in text
    assert "8.00 GiB" in text
    page = tree_html(part)
    assert page.count("<details") == page.count("</details>") > 3
    assert "<script" not in page


def test_a_policy_says_what_is_not_as_main() -> None:
    part = tree(Policy().replace(on_miss="prune"))
    assert part is not None
    assert part.words == f"Policy: 1 of {len(Policy().to_dict())} choices are not as upstream main"
    assert ".on_miss  prune  (not as main)" in tree_text(part)


def test_long_lists_are_cut() -> None:
    from kvlab.views.object_tree import _some

    assert len(_some([Part("", str(number)) for number in range(100)])) == MOST + 1
    assert tree(object()) is None


def test_objects_show_themselves_once_the_extension_is_loaded(shell: InteractiveShell) -> None:
    cache = busy().cache
    bundle, _ = shown(shell, cache)
    assert bundle["text/plain"].startswith("PrefixCache: ")
    assert bundle["text/html"].startswith("<details open")
    notebook.unload_ipython_extension(shell)
    bundle, _ = shown(shell, cache)
    assert "text/html" not in bundle
    assert "kvlab_trace" not in shell.magics_manager.magics["cell"]


def test_a_traced_cell_is_recorded(shell: InteractiveShell) -> None:
    twin = busy()
    shell.user_ns["twin"] = twin
    before = twin.cache.trie.nodes
    assert shell.run_cell("%%kvlab_trace twin seen\nevents = list(twin.step('Hello.'))\nanswer = 42").error_in_exec is None
    assert shell.user_ns["answer"] == 42
    seen = shell.user_ns["seen"]
    assert seen.requests.get_column("request").to_list() == [4]
    assert seen.events.filter(kind="request_began").get_column("text").is_null().all()
    # what stood there before is in it
    assert seen.at(-1).nodes.height == before
    assert "step" not in vars(twin)
    published: Any = shell.display_pub
    assert any("image/png" in output["data"] for output in published.outputs)


def test_a_traced_run_begins_with_an_empty_cache(shell: InteractiveShell) -> None:
    shell.user_ns["twin"] = busy()
    shell.run_cell("%%kvlab_trace twin\nrecording = twin.run('unrelated:2', progress=False)").raise_error()
    seen, made = shell.user_ns["kvlab_recording"], shell.user_ns["recording"]
    assert seen.nodes.equals(made.nodes)
    assert seen.requests.get_column("counted").to_list() == made.requests.get_column("counted").to_list()


def test_a_cell_that_fails_or_runs_nothing(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["twin"] = busy()
    shell.run_cell("%%kvlab_trace twin\nx = 1").raise_error()
    assert "ran nothing" in capsys.readouterr().out
    with pytest.raises(ZeroDivisionError):
        shell.run_cell("%%kvlab_trace twin\n1 / 0").raise_error()
    assert "step" not in vars(shell.user_ns["twin"])
    with pytest.raises(BadValue, match="needs the name"):
        shell.run_cell("%%kvlab_trace nobody\nx = 1").raise_error()


def test_an_error_in_a_traced_cell_is_told_once(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["twin"] = busy()
    for cell, error in (("1 / 0", "ZeroDivisionError"), ("1 +", "SyntaxError")):
        assert not shell.run_cell(f"%%kvlab_trace twin\n{cell}").success
        told = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        assert sum(line.startswith(f"{error}:") for line in told.splitlines()) == 1
        # the frames are the cell's own
        assert error == "SyntaxError" or "magic.py" not in told
    # the shell tells errors as before
    shell.run_cell("[][1]")
    assert "list index out of range" in capsys.readouterr().out


def test_the_magic_says_how_it_is_used(shell: InteractiveShell) -> None:
    doc = shell.magics_manager.magics["cell"]["kvlab_trace"].__doc__
    assert "%%kvlab_trace LAB [NAME]" in doc
    assert "kvlab_recording" in doc


def test_lab_shape_and_workload_read_in_a_cell(shell: InteractiveShell) -> None:
    shape = kvlab.twin("smollm2").shape
    workload = kvlab.workloads.unrelated(10)
    assert shown(shell, shape)[0]["text/plain"].splitlines() == [str(shape).splitlines()[0], "  30 layers of kind kv: 45.00 KiB a token"]
    text = shown(shell, workload)[0]["text/plain"]
    assert text.splitlines()[0].startswith("Workload unrelated:10: 10 requests")
    assert text.splitlines()[-1] == "  … and 2 more"
    assert workload.requests[0].text not in text
    lab = kvlab.open("tiny-hybrid")
    assert repr(lab).startswith("Lab(tiny-hybrid), policy upstream main")
    assert "3 layers of kind recurrent" in repr(lab)


def test_the_dashboard_is_what_is_displayed(pair: kvlab.Recording) -> None:
    assert isinstance(kvlab.stepper(pair), Dashboard)
