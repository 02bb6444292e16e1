// The view of bytes by owner: stacked steps with the budget, the twin's prediction, active bytes and the process's footprint.
// A click or a drag moves the moment; a click on a band, or Enter on the chosen one, also selects what it holds.

function bytesView(app) {
  const store = app.store;
  const tall = 150;
  const plot = s("g");
  const cursor = s("line", { class: "kv-cursor", y1: 0, y2: tall });
  const windowBand = s("rect", { class: "kv-window", y: 0, height: tall, width: 0 });
  const svg = s("svg", { class: "kv-bytes", height: tall + 22, role: "listbox", tabindex: "0" }, plot, windowBand, cursor);
  const held = h("p", { class: "kv-note kv-held", "aria-live": "polite" });
  const legend = h("p", { class: "kv-note kv-legend" });
  const note = h("p", { class: "kv-note kv-window-words", "aria-live": "polite" });
  let drawn = -1;
  let drawnWidth = 0;
  let domain = [0, 1];
  let width = 600;
  let most = 1;

  // An axis of places: every event takes the same room, whatever its time.
  const x = (seq) => 56 + ((width - 64) * (store.placeOf(seq) - domain[0])) / Math.max(1, domain[1] - domain[0]);
  const placeAt = (pixel) => Math.round(domain[0] + ((pixel - 56) / (width - 64)) * (domain[1] - domain[0]));

  function drawPlot() {
    domain = [0, Math.max(1, store.count - 1)];
    svg.setAttribute("viewBox", `0 0 ${width} ${tall + 22}`);
    const steps = bytesSteps(store);
    const parts = [];
    const stackTop = steps.reduce((top, step) => Math.max(top, STACK.reduce((sum, name) => sum + step[name], 0), step.counted, step.held), 1);
    const grown = steps.reduce((top, step) => Math.max(top, step.grown), 0);
    const budget = steps.length ? steps.at(-1).budget : 0;
    const budgetDrawn = budget > 0 && budget <= 3 * stackTop;
    const footprint = steps.at(-1)?.footprint ?? -1;
    // what goes on above is cut off at three times the stack, so that the stack can still be read
    most = 1.06 * Math.max(stackTop, budgetDrawn ? budget : 0, Math.min(grown, 3 * stackTop));
    const y = (value) => tall - (tall * Math.min(value, most)) / most;
    const edges = steps.map((step, place) => [x(step.seq), place + 1 < steps.length ? x(steps[place + 1].seq) : x(store.seqAt(store.count - 1))]);
    const base = steps.map(() => 0);
    for (const name of STACK) {
      if (!steps.some((step) => step[name] > 0)) continue;
      const up = steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(base[place] + step[name]).toFixed(1)} ${edges[place][1].toFixed(1)},${y(base[place] + step[name]).toFixed(1)}`);
      const down = steps.map((_, place) => `${edges[place][1].toFixed(1)},${y(base[place]).toFixed(1)} ${edges[place][0].toFixed(1)},${y(base[place]).toFixed(1)}`).reverse();
      parts.push(s("path", { d: `M${[...up, ...down].join(" L")}Z`, class: `kv-band kv-band-${name}`, id: `${app.id}-band-${name}`, role: "option", "aria-label": name, "data-owner": name }, s("title", {}, `${name}: click to select what it holds`)));
      steps.forEach((step, place) => { base[place] += step[name]; });
    }
    const line = (name, value) => {
      const points = steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(value(step)).toFixed(1)} L${edges[place][1].toFixed(1)},${y(value(step)).toFixed(1)}`);
      if (points.length) parts.push(s("path", { d: `M${points.join(" L")}`, class: "kv-halo" }), s("path", { d: `M${points.join(" L")}`, class: `kv-line kv-line-${name}` }));
    };
    line("counted", (step) => step.counted);
    line("active", (step) => step.held);
    if (budgetDrawn) line("budget", (step) => step.budget);
    if (footprint >= 0) line("footprint", (step) => step.grown);
    const { predicted } = store.tables;
    (predicted.seq ?? []).forEach((seq, row) => parts.push(s("path", { d: `M${x(seq)},${y(predicted.counted[row]) - 4} l4,4 l-4,4 l-4,-4 z`, class: "kv-predicted" }, s("title", {}, `predicted by the twin after request ${predicted.request[row]}: ${bytesWords(predicted.counted[row])} counted`))));
    for (const part of [0, 0.5, 1]) parts.push(s("text", { x: 50, y: y(most * part / 1.06) + 4, "text-anchor": "end", class: "kv-small" }, bytesWords(Math.round(most * part / 1.06))));
    requestTicks(parts);
    plot.replaceChildren(...parts);
    const last = store.reading(store.seqAt(store.count - 1));
    const lines = ["counted", "active", ...(budgetDrawn ? ["budget"] : []), ...(footprint >= 0 ? ["footprint"] : [])];
    legend.replaceChildren(...[...STACK.filter((name) => steps.some((step) => step[name] > 0)).map((name) => h("span", {}, h("i", { class: `kv-swatch kv-band-${name}` }), name)),
      ...lines.map((name) => h("span", {}, h("i", { class: `kv-swatch kv-key-${name}` }), LINE_WORDS[name] ?? name)),
      predicted.seq?.length ? h("span", {}, "◆ counted as predicted by the twin") : null,
      h("span", {}, last ? `weights ${bytesWords(last.weights)} not drawn${footprint < 0 ? "" : `; footprint of the process ${bytesWords(footprint)}`}${budget && !budgetDrawn ? `; budget ${bytesWords(budget)} far above` : ""}` : "no bytes were read yet")].filter((part) => part !== null));
    drawn = store.version;
    drawnWidth = width;
  }

  function requestTicks(parts) {
    const rows = store.requests.filter((row) => row.began >= 0);
    const every = Math.max(1, Math.ceil(rows.length / (width / 34)));
    rows.forEach((row, place) => {
      if (place % every) return;
      parts.push(s("line", { x1: x(row.began), x2: x(row.began), y1: tall, y2: tall + 5, class: "kv-rule" }));
      parts.push(s("text", { x: x(row.began) + 2, y: tall + 17, class: "kv-small" }, `r${row.request}`));
    });
  }

  function show(scene) {
    if (drawn !== store.version || drawnWidth !== width) drawPlot();
    cursor.setAttribute("x1", x(scene.seq));
    cursor.setAttribute("x2", x(scene.seq));
    svg.setAttribute("aria-label", bytesLabel(store, scene.seq));
    showHeld(scene);
    showWindow();
  }

  function showHeld(scene) {
    const { owner, node } = app.state.band ?? {};
    for (const band of plot.querySelectorAll(".kv-band")) {
      band.classList.toggle("kv-chosen", band.dataset.owner === owner);
      band.setAttribute("aria-selected", String(band.dataset.owner === owner));
    }
    if (owner) svg.setAttribute("aria-activedescendant", `${app.id}-band-${owner}`);
    else svg.removeAttribute("aria-activedescendant");
    const found = owner ? bandHolds(scene, owner, { node }) : null;
    const others = (found?.nodes ?? []).filter(([one]) => one > 0).slice(0, 8);
    held.replaceChildren(...(found ? [bandWords(found), ...others.map(([one, bytes]) => h("button", { class: "kv-link", "data-node": one, onclick: () => app.selectBand(owner, { node: one }) }, `#${one}${bytes ? ` (${bytesWords(bytes)})` : ""}`))]
      : ["Click a band, or choose one with the up and down keys and press Enter, to select what it holds."]));
  }

  const drawnBands = () => [...plot.querySelectorAll(".kv-band")].map((band) => band.dataset.owner);

  function chooseNext(by) {
    const bands = drawnBands();
    const place = bands.indexOf(app.state.band?.owner);
    app.chooseBand(bands[place < 0 ? (by > 0 ? 0 : bands.length - 1) : Math.max(0, Math.min(bands.length - 1, place + by))]);
  }

  function showWindow() {
    const window = app.state.window;
    if (!window) {
      windowBand.setAttribute("width", "0");
      note.textContent = "";
      return;
    }
    const [from, to] = window;
    windowBand.setAttribute("x", x(from));
    windowBand.setAttribute("width", Math.max(2, x(to) - x(from)));
    const { bytes, nodes, grown } = windowWords(store, from, to);
    note.replaceChildren(`Window, events ${from} to ${to}: allocated in it and not freed by its end: ${bytesWords(bytes)} of snapshots`,
      nodes.length ? " on " : "", ...nodes.slice(0, 8).map(([node, held]) => h("button", { class: "kv-link", "data-node": node, onclick: () => app.select(node) }, node < 0 ? `no node yet (${bytesWords(held)})` : `#${node} (${bytesWords(held)})`)),
      nodes.length > 8 ? ` and ${nodes.length - 8} more` : "", grown.length ? `; grew: ${grown.map(([name, value]) => `${name} ${bytesWords(value)}`).join(", ")}` : "; no owner grew");
  }

  let pressed = null;
  const scale = () => width / Math.max(1, svg.getBoundingClientRect().width);
  const pixel = (event) => (event.clientX - svg.getBoundingClientRect().left) * scale();
  svg.addEventListener("pointerdown", (event) => {
    const height = ((tall - (event.clientY - svg.getBoundingClientRect().top) * scale()) * most) / tall;
    pressed = { place: placeAt(pixel(event)), brush: event.shiftKey, height, moved: false };
    svg.setPointerCapture(event.pointerId);
    if (pressed.brush) app.setWindow(null);
    else app.go(pressed.place);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const place = placeAt(pixel(event));
    pressed.moved ||= place !== pressed.place;
    if (pressed.brush) app.setWindow([store.seqAt(Math.min(pressed.place, place)), store.seqAt(Math.max(pressed.place, place))]);
    else app.go(place);
  });
  svg.addEventListener("pointerup", () => {
    const band = pressed && !pressed.moved && !pressed.brush ? bandAt(store.reading(store.seqAt(pressed.place)), pressed.height) : null;
    pressed = null;
    if (band) app.selectBand(band.owner, { within: band.within });
  });
  svg.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") chooseNext(event.key === "ArrowUp" ? 1 : -1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") app.go(app.state.place + (event.key === "ArrowRight" ? 1 : -1), true);
    else if (event.key === "Enter" && app.state.band) app.selectBand(app.state.band.owner);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function measure() {
    width = Math.max(300, svg.clientWidth || 600);
  }

  return { element: h("div", {}, legend, svg, held, note), focus: () => svg.focus(), show, measure };
}

const LINE_WORDS = { active: "active less weights", footprint: "footprint since the first reading" };

function bytesLabel(store, seq) {
  const reading = store.reading(seq);
  if (!reading) return `Bytes by owner over ${store.count} events. Nothing was read yet.`;
  const footprint = footprintAt(store, seq);
  const told = [...STACK, "counted", "active", "budget"].map((name) => `${name} ${bytesWords(reading[name])}`);
  return `Bytes by owner over ${store.count} events. At event ${seq}: ${[...told, ...(footprint < 0 ? [] : [`footprint of the process ${bytesWords(footprint)}`])].join(", ")}. Up and down choose a band, Enter selects what it holds.`;
}
