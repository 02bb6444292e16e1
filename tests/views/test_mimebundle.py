from __future__ import annotations

import base64
import errno
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import pytest
import vl_convert

from kvlab import cache_folder, notebook
from kvlab.display import Rich
from kvlab.findings.finding import number_words
from kvlab.views import card, live, mimebundle, static
from tests.views.charts import PNG, png_size

if TYPE_CHECKING:
    from kvlab.findings import Findings
    from kvlab.recording import Recording

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def extension() -> Iterator[None]:
    notebook.load_ipython_extension(None)
    yield
    notebook.unload_ipython_extension(None)


def test_a_recording_is_text_and_a_picture(pair: Recording) -> None:
    bundle = pair._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["text/plain"].startswith("Recording\n  model       toy")
    assert png_size(bundle["image/png"])[0] > 720


def test_a_moment_is_its_outline(pair: Recording) -> None:
    bundle = pair.at(9)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["text/plain"].startswith("trie after event 9, in request 1")


def test_findings_are_cards_of_text(findings: Findings) -> None:
    bundle = mimebundle.mimebundle(findings)
    assert set(bundle) == {"text/plain", "text/html"}
    # cards: the verdict, its figures unfolded, nothing that runs or is not escaped
    page = bundle["text/html"]
    assert "<b>budget_or_leak: budget</b> (confidence high)<br>growth stops at the budget" in page
    assert "<details open><summary>3 figures</summary>" in page
    assert "grow &lt;for&gt; 3 requests" in page
    assert "<script" not in page
    assert bundle["text/plain"].splitlines() == [
        "budget_or_leak: budget (confidence high)",
        "  growth stops at the budget",
        "    plateau_bytes       20.00 MiB",
        "    reached_at_request  11",
        "    slope               0.1235",
        "  refuted by: unexplained bytes that grow <for> 3 requests",
    ]


def test_anything_else_is_its_repr() -> None:
    class Plain(Rich):
        def __repr__(self) -> str:
            return "Plain()"

    assert Plain()._repr_mimebundle_() == {"text/plain": "Plain()"}


def test_a_failing_chart_leaves_the_text_and_says_so(pair: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> bytes:
        raise RuntimeError("no canvas")

    monkeypatch.setattr(static, "png", fail)
    bundle = pair._repr_mimebundle_()
    assert set(bundle) == {"text/plain"}
    assert bundle["text/plain"].startswith("Recording\n")
    assert bundle["text/plain"].endswith("(not drawn: RuntimeError: no canvas)")


def test_a_failing_card_leaves_the_repr_and_says_so(pair: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise KeyError("policy")

    monkeypatch.setattr(mimebundle, "card", fail)
    text = pair._repr_mimebundle_()["text/plain"]
    assert text.startswith(repr(pair))
    assert "(not drawn: KeyError: 'policy')" in text


def test_an_empty_recording_shows_itself(empty: Recording) -> None:
    bundle = empty._repr_mimebundle_()
    assert "0 requests" in bundle["text/plain"]
    assert "not drawn" not in bundle["text/plain"]


@pytest.mark.usefixtures("extension")
def test_the_extension_adds_a_widget_and_keeps_the_picture(pair: Recording) -> None:
    bundle = pair._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png", WIDGET}
    assert set(bundle[WIDGET]) >= {"model_id"}
    assert set(pair.at(9)._repr_mimebundle_()) == {"text/plain", "image/png", WIDGET}


def test_loading_and_unloading_the_extension_leaves_nothing_changed() -> None:
    before = (alt.theme.active, alt.renderers.active)
    notebook.load_ipython_extension(None)
    notebook.load_ipython_extension(None)
    assert (alt.theme.active, alt.renderers.active) == ("kvlab", "jupyter")
    notebook.unload_ipython_extension(None)
    assert (alt.theme.active, alt.renderers.active) == before
    assert not live.LIVE.on


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was bundled while no process has kept Altair's script yet."""
    made: list[str] = []
    monkeypatch.setattr(alt.JupyterChart, "_is_offline", False)
    monkeypatch.setattr(alt.JupyterChart, "_esm", "")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda *_, **__: made.append("script") or "export default {}; // \u00e9\r\n")
    return made


@pytest.mark.usefixtures("extension")
def test_a_script_is_bundled_once_for_all_processes(pair: Recording, bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    for _ in range(2):
        assert WIDGET in pair.at(9)._repr_mimebundle_()
        assert (alt.JupyterChart._esm, bundled) == ("export default {}; // \u00e9\r\n", ["script"])
        # as another process finds it
        monkeypatch.setattr(alt.JupyterChart, "_is_offline", False)
        monkeypatch.setattr(alt.JupyterChart, "_esm", "")
    # Altair's own charts have it from the beginning
    notebook.load_ipython_extension(None)
    assert alt.JupyterChart._is_offline
    assert bundled == ["script"]


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("what", ["unwritable", "full", "damaged", "cut short"])
def test_without_a_cache_folder_a_chart_is_shown_all_the_same(
    pair: Recording, bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "file" if what == "unwritable" else tmp_path))
    (tmp_path / "file").write_text("a file where the folder should be")
    if what == "full":

        def full(*_: Any, **__: Any) -> int:
            raise OSError(errno.ENOSPC, "no space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
    elif what != "unwritable":
        kept = cache_folder.place(live.SCRIPT, "charts")
        kept.parent.mkdir()
        kept.write_bytes(b"export" if what == "damaged" else gzip.compress(b"export default {}")[:-4])
    assert WIDGET in pair.at(9)._repr_mimebundle_()
    assert alt.JupyterChart._esm
    assert bundled
    assert not cache_folder.place(live.SCRIPT, "charts").exists()


def answer(*lines: str) -> str:
    """Return what a new interpreter prints after these lines."""
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


EVERYTHING = "import kvlab.notebook, kvlab.views.mimebundle, kvlab.views.report, kvlab.views.mimebundle"


def test_importing_views_changes_nothing_global() -> None:
    state = "alt.theme.active, alt.renderers.active"
    assert answer("import altair as alt", f"before = {state}", EVERYTHING, f"print(before == ({state}))") == "True"


def test_views_import_no_mlx() -> None:
    assert answer("import sys", EVERYTHING, "print([name for name in sys.modules if name.split('.')[0] in ('mlx', 'mlx_lm')])") == "[]"


def test_the_card_names_policy_and_units(pair: Recording, findings: Findings) -> None:
    lines = card.card(pair, findings).splitlines()
    assert lines[1:6] == [
        "  model       toy",
        "  policy      upstream main but budget_bytes=20.00 MiB (main 8.00 GiB)",
        "  workload    pair: 2 requests, 19 prompt tokens (matched 4, cached 4), 5 generated",
        "  at the end  counted 10.00 MiB of a budget of 20.00 MiB, live 16.00 MiB, weights 513.00 MiB",
        "  allocator   active 540.00 MiB, of it unattributed 1.00 MiB; pool 0 B",
    ]
    assert lines[6:] == ["  warnings    1", "  verdict     budget_or_leak: budget - growth stops at the budget"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("live_bytes", 1024, "1.00 KiB"),
        ("growth_bytes_per_request", 2048.0, "2.00 KiB"),
        ("reached_at_request", 12345, "12,345"),
        ("evicted_requests", [1, 2], "1, 2"),
        ("slope", 0.5, "0.5"),
        ("layer", "kv", "kv"),
        ("plateau_bytes", None, "-"),
        ("by_design", True, "True"),
    ],
)
def test_a_figure_has_its_unit(name: str, value: Any, words: str) -> None:
    assert number_words(name, value) == words


def test_show_writes_text_in_a_terminal(pair: Recording, findings: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    mimebundle.show(pair, findings)
    written = capsys.readouterr().out
    for part in ("Recording\n", "bytes at each request's end", "trie after event", "snapshots after event", "refuted by"):
        assert part in written
    mimebundle.show(pair.at(9))
    assert capsys.readouterr().out.startswith("trie after event 9")


def test_a_smaller_picture_has_the_same_pixels(pair: Recording) -> None:
    image = static.png(mimebundle.bytes_chart(pair), scale=1)
    assert image.startswith(PNG)
    assert static.smaller(image) == image
    assert base64.b64decode(base64.b64encode(image)) == image
