// The stepper: forward and back through time, jumps, and a sentence that says what just happened and which rule did it.

function controlsView(app, act) {
  const store = app.store;
  const button = (words, label, does, key) => h("button", { class: "kv-button", "aria-label": label, title: key ? `${label}. Key: ${key}` : label, onclick: does }, words);
  const play = button("▶", "Play", act.toggle, "space");
  const forward = button("Next ▸", "Next event", () => act.next("event"), ".");
  forward.classList.add("kv-next");
  const slider = h("input", { type: "range", class: "kv-slider", min: "0", max: "0", value: "0", step: "1", "aria-label": "Moment" });
  const words = h("span", { class: "kv-moment" });
  const sentence = h("p", { class: "kv-sentence", "aria-live": "polite" });
  let message = null;
  const jumps = h("select", { class: "kv-jumps", "aria-label": "Jump to" }, h("option", { value: "" }, "Jump to…"), ...Object.keys(JUMPS).map((name) => h("option", { value: name }, name)));
  const pace = h("select", { class: "kv-pace", "aria-label": "Pace" }, ...[["slow", 1000], ["steady", 400], ["quick", 120]].map(([name, ms]) => h("option", { value: ms, selected: name === "steady" }, name)));
  slider.addEventListener("input", () => app.go(Number(slider.value)));
  // JupyterLab takes the arrow keys' own action away from a range
  slider.addEventListener("keydown", (event) => {
    const leap = Math.max(2, Math.round(store.count / 20));
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -leap, PageUp: leap }[event.key];
    if (by === undefined) return;
    app.go(app.state.place + by, Math.abs(by) === 1);
    event.preventDefault();
    event.stopPropagation();
  });
  jumps.addEventListener("change", () => {
    if (jumps.value) act.jump(jumps.value);
    jumps.value = "";
  });

  return {
    element: h("div", { class: "kv-controls" },
      h("div", { class: "kv-buttons", role: "toolbar", "aria-label": "Time" },
        button("|◂", "To the beginning", act.toStart, "Home"), button("◂", "Back", act.back, ","), play, forward,
        button("Phase ▸", "Next phase", () => act.next("phase"), "p"), button("Request ▸", "Next request", () => act.next("request"), "r"),
        button("Split ▸", "Next split", () => act.next("split")), button("▸|", "To the end of what is there", act.toEnd, "End"), jumps, pace),
      h("div", { class: "kv-time" }, slider, words), sentence),
    focus: () => slider.focus(),
    pace: () => Number(pace.value),
    // stays until the moment moves, whatever is drawn again meanwhile
    say(text) {
      message = { text, seq: store.seqAt(app.state.place) };
      sentence.textContent = text;
    },
    show(scene, { ended, waiting, live }) {
      slider.max = String(Math.max(0, store.count - 1));
      slider.value = String(scene.place);
      const request = scene.request > 0 ? `request ${scene.request}` : "outside any request";
      const rest = live ? (ended ? "; the run is over" : waiting ? "; the model works…" : "; live") : "";
      words.textContent = store.count && scene.seq < 0 ? `what was there before the run${rest}` : store.count ? `event ${scene.seq} of ${store.seqAt(store.count - 1)}, ${request}${rest}` : live ? "nothing yet: press Next" : "no events";
      slider.setAttribute("aria-valuetext", words.textContent);
      if (message?.seq !== scene.seq) message = null;
      sentence.textContent = message?.text ?? store.sentenceAt(scene.place);
      sentence.dataset.kind = store.kindAt(scene.place);
      play.textContent = app.state.playing ? "❚❚" : "▶";
      play.setAttribute("aria-label", app.state.playing ? "Pause" : "Play");
      forward.disabled = waiting;
    },
  };
}
