"use strict";
(async () => {
  const { specs, moments } = JSON.parse(document.getElementById("kvlab-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const slider = document.getElementById("at");
  const words = document.getElementById("at-words");
  const views = {};

  // the charts carry one grey that reads on both papers; here the paper is known, so the text can have full contrast
  function withInk(spec) {
    const ink = dark.matches ? "#d8d8d8" : "#3a3a3a";
    const copy = structuredClone(spec);
    for (const part of ["axis", "legend", "header", "title", "text"]) {
      for (const key of Object.keys(copy.config[part])) {
        if (/olor$/.test(key) && key !== "gridColor") copy.config[part][key] = ink;
      }
    }
    return copy;
  }

  function place() {
    return moments[slider ? Number(slider.value) : 0];
  }

  async function show() {
    const moment = place();
    if (!moment) return;
    const text = moment.words;
    words.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    await Promise.all(Object.values(views).map((view) => view.signal("at", moment.seq).runAsync()));
  }

  async function draw() {
    for (const [name, spec] of Object.entries(specs)) {
      views[name]?.finalize();
      const options = { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
      const made = await window.vegaEmbed(`#chart-${name}`, withInk(spec), options);
      views[name] = made.view;
    }
    views.bytes?.addEventListener("click", (event) => {
      const box = event.target.closest("svg").getBoundingClientRect();
      const x = views.bytes.scale("x").invert(event.clientX - box.left - views.bytes.origin()[0]);
      const after = moments.findIndex((moment) => moment.x > x);
      slider.value = String(Math.max(0, (after === -1 ? moments.length : after) - 1));
      show();
    });
    await show();
    document.body.dataset.drawn = "yes";
  }

  slider?.addEventListener("input", show);
  document.getElementById("at-back")?.addEventListener("click", () => { slider.stepDown(); show(); });
  document.getElementById("at-on")?.addEventListener("click", () => { slider.stepUp(); show(); });
  dark.addEventListener("change", draw);
  await draw();
})();
