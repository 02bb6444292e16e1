"""The measurements of `bench_views` inside JupyterLab: the notebook that draws, and the scripts that scrub and click."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from tests.bench.lab_browser import LabPage, chromium, lab_server
from tests.bench.views import LARGE, SMALL

CELLS = (
    "import altair, ipywidgets, kvlab\nfrom tests.bench.views import synthetic\nfrom kvlab.views.dashboard.widget import dashboard",
    f"""view = dashboard(synthetic({SMALL}))
heard = ipywidgets.Label('none')
view.observe(lambda change: setattr(heard, 'value', f'heard {{change.new}}'), 'selected')
ipywidgets.VBox([view, heard])""",
    f"large = dashboard(synthetic({LARGE}))\nipywidgets.VBox([large])",
    f"""from tests.bench.views_altair import altair_trie
altair.JupyterChart.enable_offline()
altair_trie({SMALL})""",
    f"altair_trie({LARGE})",
)

# (it ends with a value that is no function: Playwright would call one) a frame's drawing is on the screen when the task after that frame runs
AFTER_FRAME = """
window.afterFrame = () => new Promise((done) => requestAnimationFrame(() => {
  const after = new MessageChannel();
  after.port1.onmessage = () => done(performance.now());
  after.port2.postMessage(0);
}));
window.scrubs = async (slider, drawn, rounds) => {
  const most = Number(slider.max);
  const times = [];
  for (let round = 0; round < rounds + 3; round += 1) {
    const before = drawn();
    const began = performance.now();
    slider.value = String(Math.round(most * (((round * 0.61803) % 1) * 0.9 + 0.05)));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    let ended = await window.afterFrame();
    while (drawn() === before) ended = await window.afterFrame();
    if (round >= 3) times.push(ended - began);
    await new Promise((done) => setTimeout(done, 30));
  }
  return times;
};
window.scrubDashboard = (root, rounds) => window.scrubs(root.querySelector(".kv-slider"), () => root.dataset.drawn, rounds);
// Vega clears its canvas before each drawing
window.scrubAltair = async (rounds) => {
  const canvas = [...document.querySelectorAll(".vega-embed canvas")].at(-1);
  const context = canvas.getContext("2d");
  let count = 0;
  const clear = context.clearRect;
  context.clearRect = function (...area) { count += 1; return clear.apply(this, area); };
  const pictures = new Set();
  const drawn = () => {
    if (pictures.size < 2) pictures.add(canvas.toDataURL());
    return count;
  };
  const times = await window.scrubs([...document.querySelectorAll(".vega-bind input[type=range]")].at(-1), drawn, rounds);
  if (pictures.size < 2) throw new Error("the Altair trie did not move");
  return times;
};
window.clicks = async (root, rounds) => {
  const times = [];
  for (let round = 0; round < rounds + 3; round += 1) {
    const rows = [...root.querySelectorAll(".kv-node")].filter((row) => row.getAttribute("aria-selected") === "false");
    const row = rows[(round * 7) % rows.length];
    const label = [...document.querySelectorAll(".widget-label")].find((one) => /^(heard|none)/.test(one.textContent));
    const wanted = `heard ${row.dataset.node}`;
    const answered = new Promise((done) => {
      const seen = new MutationObserver(() => { if (label.textContent === wanted) { seen.disconnect(); done(); } });
      seen.observe(label, { childList: true, characterData: true, subtree: true });
    });
    const began = performance.now();
    row.click();
    await answered;
    const ended = await window.afterFrame();
    if (round >= 3) times.push(ended - began);
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
};
null;
"""


def times_in_jupyterlab(folder: Path, rounds: int) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Return milliseconds of every round by what was measured, and the bytes of messages during the scrubs of the small trie."""
    notebooks, private = folder / "notebooks", folder / "private"
    notebooks.mkdir()
    private.mkdir()
    _write(notebooks / "bench.ipynb")
    times: dict[str, list[float]] = {}
    with lab_server(notebooks, private) as server, chromium() as browser:
        lab = LabPage(browser.new_page(viewport={"width": 1300, "height": 1400}))
        page = lab.page
        lab.open(server.url("bench.ipynb"))
        if failed := lab.run_cells(0, 1):
            raise RuntimeError(failed[0])
        page.evaluate(AFTER_FRAME)
        page.locator(".kvlab").first.scroll_into_view_if_needed()
        page.wait_for_function("document.querySelector('.kvlab').dataset.firstPaintMs !== undefined")
        times["first_paint"] = [float(page.evaluate("Number(document.querySelector('.kvlab').dataset.firstPaintMs)"))]
        page.wait_for_timeout(800)
        before = {way: len(said) for way, said in lab.said.items()}
        times["scrub"] = page.evaluate("rounds => scrubDashboard(document.querySelector('.kvlab'), rounds)", rounds)
        page.wait_for_timeout(800)
        sent = {way: sum(len(text) for text in said[before[way] :]) for way, said in lab.said.items()}
        times["scrub_overview"] = _overview(page, "document.querySelector('.kvlab')", rounds)
        times["click_answered"] = page.evaluate("rounds => clicks(document.querySelector('.kvlab'), rounds)", rounds)
        for _ in range(min(rounds, 9)):
            times["first_paint"].append(_painted_again(lab))
        if failed := lab.run_cells(2):
            raise RuntimeError(failed[0])
        large = "[...document.querySelectorAll('.kvlab')].at(-1)"
        page.wait_for_function(f"document.querySelectorAll('.kvlab').length === 2 && {large}.dataset.firstPaintMs !== undefined")
        page.evaluate(f"{large}.scrollIntoView()")
        page.wait_for_timeout(800)
        times["scrub_large"] = page.evaluate(f"rounds => scrubDashboard({large}, rounds)", rounds)
        times["scrub_large_overview"] = _overview(page, large, rounds)
        for charts, (cell, name) in enumerate(((3, "altair"), (4, "altair_large")), 1):
            if failed := lab.run_cells(cell):
                raise RuntimeError(failed[0])
            page.wait_for_function("charts => document.querySelectorAll('.vega-bind input').length === charts", arg=charts)
            page.locator(".vega-bind").last.scroll_into_view_if_needed()
            page.wait_for_timeout(800)
            times[name] = page.evaluate("rounds => scrubAltair(rounds)", rounds)
    order = ("scrub", "click_answered", "first_paint", "scrub_large", "scrub_overview", "scrub_large_overview", "altair", "altair_large")
    return {name: times[name] for name in order}, sent


def _overview(page: Any, root: str, rounds: int) -> list[float]:
    switch = f"[...{root}.querySelectorAll('.kv-mode')][0].click()"
    page.evaluate(switch)
    page.wait_for_timeout(400)
    times: list[float] = page.evaluate(f"rounds => scrubDashboard({root}, rounds)", rounds)
    page.evaluate(switch)
    page.wait_for_timeout(200)
    return times


def _painted_again(lab: LabPage) -> float:
    """Draw the small dashboard once more, in a fresh output, and return how long its first paint took."""
    lab.page.evaluate("() => { document.querySelector('.kvlab').dataset.old = 'yes'; }")
    if failed := lab.run_cells(1):
        raise RuntimeError(failed[0])
    lab.page.wait_for_function("(() => { const one = document.querySelector('.kvlab:not([data-old])'); return one?.dataset.firstPaintMs !== undefined; })()")
    return float(lab.page.evaluate("Number(document.querySelector('.kvlab:not([data-old])').dataset.firstPaintMs)"))


def _write(path: Path) -> None:
    form: Any = nbformat
    made = form.v4.new_notebook(cells=[form.v4.new_code_cell(source) for source in CELLS])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    form.write(made, path)
