// Requests as a waterfall of phases, how each prompt divides, and why; below them the tokens of the one under way.

const BEFORE = 8;

const PHASE_LETTERS = { begin: "B", prefill: "P", attach: "A", decode: "D", close: "C" };

function requestsView(app) {
  const store = app.store;
  const list = h("div", { class: "kv-requests", role: "listbox", tabindex: "0", "aria-label": "Requests. Up and down choose one, Enter goes to its beginning." });
  const head = h("div", { class: "kv-request kv-requests-head", "aria-hidden": "true" });
  const strip = stripView(app);
  let at = -1;
  let scaled = { version: -1, longest: 1, widest: 1 };

  // The axes are those of all requests: nothing jumps when time moves.
  function scales() {
    if (scaled.version === store.version) return scaled;
    scaled = { version: store.version, longest: 1e-9, widest: 1 };
    for (const row of store.requests) {
      const seconds = Object.values(row.times);
      if (!timed(store)) scaled.longest = Math.max(scaled.longest, row.closed - row.began);
      else if (seconds.length) scaled.longest = Math.max(scaled.longest, Math.max(...seconds) - row.times.began);
      scaled.widest = Math.max(scaled.widest, row.tokens);
    }
    const titles = ["request", timed(store) ? "phases in time" : "phases in events", "prompt", "cached/matched/tokens", "TTFT", "decode", "why"];
    head.replaceChildren(...titles.map((title, place) => h("span", { class: place > 2 && place < 6 ? "kv-number" : "", title }, title)));
    const shown = Math.min(BEFORE + 1, store.requests.filter((row) => row.request > 0).length);
    list.style.height = `${20 * (1 + Math.max(1, shown)) + 8}px`;
    return scaled;
  }

  function phaseBars(facts, longest) {
    const track = h("span", { class: "kv-track" });
    const start = facts.phases[0]?.[1] ?? 0;
    for (const [name, from, to] of facts.phases) {
      const bar = h("i", { class: `kv-phase kv-phase-${name}`, title: `${name}: ${phaseWords(to - from, store)}` }, (to - from) / longest > 0.09 ? h("b", { class: "kv-count" }, PHASE_LETTERS[name]) : null);
      bar.style.left = `${Math.min(99, (100 * (from - start)) / longest)}%`;
      bar.style.width = `${Math.max(0.3, Math.min(100, (100 * (to - from)) / longest))}%`;
      track.append(bar);
    }
    return track;
  }

  function promptParts(facts, widest) {
    const parts = h("span", { class: "kv-parts", title: `${runWords(facts.runs)}; cached/matched/tokens ${reuseWords(facts)}` });
    for (const run of facts.runs) {
      if (run.sort === "generated") continue;
      const part = h("i", { class: `kv-sort kv-sort-${run.sort}` });
      part.style.width = `${(100 * (run.end - run.start)) / widest}%`;
      parts.append(part);
    }
    return parts;
  }

  function line(facts, { longest, widest }) {
    const none = timed(store) ? null : "the twin runs no model: it has no seconds";
    return h("div", { class: `kv-request${facts.request === at ? " kv-selected" : ""}${facts.cancelled ? " kv-cancelled" : ""}`, role: "option", id: `${app.id}-request-${facts.request}`, "data-request": facts.request, "aria-selected": String(facts.request === at), "aria-label": requestWords(facts, store) },
      h("span", { class: "kv-name", title: facts.label }, `r${facts.request} ${facts.label}`), phaseBars(facts, longest), promptParts(facts, widest),
      h("span", { class: "kv-number" }, reuseWords(facts)),
      h("span", { class: "kv-number", title: none }, ttftWords(facts, store)),
      h("span", { class: "kv-number", title: none }, speedWords(facts, store)),
      h("span", { class: "kv-why", title: whyWords(facts) }, whyWords(facts)));
  }

  function show(scene) {
    at = scene.request;
    const axes = scales();
    // the one under way and those before it, as many as fit: to scroll would lay the whole page out at every moment
    const place = store.rowOfRequest.get(at) ?? store.requests.findLastIndex((row) => row.began <= scene.seq);
    const shown = store.requests.slice(Math.max(0, place - BEFORE), place + 1).filter((row) => row.request > 0 && row.began <= scene.seq)
      .map((row) => requestFacts(store, row, scene.seq));
    list.replaceChildren(head, ...shown.map((facts) => line(facts, axes)));
    if (at > 0) list.setAttribute("aria-activedescendant", `${app.id}-request-${at}`);
    strip.show(scene, shown.find((facts) => facts.request === at) ?? null);
  }

  list.addEventListener("click", (event) => {
    const request = Number(event.target.closest("[data-request]")?.dataset.request ?? -1);
    if (request > 0) app.goToRequest(request);
  });
  list.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      const numbers = store.requests.map((row) => row.request).filter((request) => request > 0);
      const place = numbers.indexOf(at);
      app.goToRequest(numbers[Math.max(0, Math.min(numbers.length - 1, place + move))]);
    } else if (event.key === "Enter") app.goToRequest(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { element: h("div", {}, list, strip.element, requestsLegend()), focus: () => list.focus(), focusStrip: strip.focus, show };
}

function requestsLegend() {
  const phases = PHASES.map((name) => h("span", {}, h("i", { class: `kv-swatch kv-phase-${name} kv-lettered` }, h("b", { class: "kv-count" }, PHASE_LETTERS[name])), name));
  const sorts = Object.entries(SORTS).map(([sort, words]) => h("span", {}, h("i", { class: `kv-swatch kv-sort-${sort}` }), words));
  return h("p", { class: "kv-note kv-legend" }, h("span", {}, "Phases:"), ...phases, h("span", {}, "Tokens:"), ...sorts);
}
