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
  let drawn = "";
  let owners = STACK;
  let domain = [0, 1];
  let width = 600;
  let left = 56;
  let most = 1;

  // An axis of places: every event takes the same room, whatever its time. What was there before a live run is at its beginning.
  const xAt = (place) => left + ((width - 8 - left) * (Math.max(domain[0], place) - domain[0])) / Math.max(1, domain[1] - domain[0]);
  const x = (seq) => xAt(store.placeOf(seq));
  const placeAt = (pixel) => Math.round(domain[0] + ((pixel - left) / (width - 8 - left)) * (domain[1] - domain[0]));

  function drawPlot() {
    const before = store.seqAt(0) < 0 ? store.placeOf(-1) : 0;
    domain = [before, Math.max(before + 1, store.count - 1)];
    svg.setAttribute("viewBox", `0 0 ${width} ${tall + 22}`);
    const points = Math.max(100, Math.floor(width / 2));
    const steps = bytesSteps(store, points);
    owners = drawnOwners(steps, app.state.pool);
    const parts = [];
    const stackTop = steps.reduce((top, step) => Math.max(top, owners.reduce((sum, name) => sum + step[name], 0), step.counted, step.held), 0);
    const grown = steps.reduce((top, step) => Math.max(top, step.grown), 0);
    const budget = steps.length ? steps.at(-1).budget : 0;
    const budgetDrawn = budget > 0 && budget <= 3 * stackTop;
    const footprint = steps.at(-1)?.footprint ?? -1;
    // what goes on above is cut off at three times the stack, so that the stack can still be read
    most = 1.06 * Math.max(1, stackTop, budgetDrawn ? budget : 0, Math.min(grown, 3 * stackTop));
    const ticks = steps.length ? bytesTicks(most > 1.06 ? most : 0) : [];
    left = 14 + Math.max(40, ...ticks.map((tick) => labelWidth(tick.words)));
    const y = (value) => tall - (tall * Math.min(value, most)) / most;
    for (const tick of ticks) {
      parts.push(s("line", { x1: left, x2: width - 8, y1: y(tick.value), y2: y(tick.value), class: "kv-rule" }));
      parts.push(s("text", { x: left - 6, y: Math.max(9, y(tick.value) + 4), "text-anchor": "end", class: "kv-small kv-tick" }, tick.words));
    }
    if (!steps.length) parts.push(s("text", { x: left, y: tall / 2, class: "kv-small" }, "no bytes were read yet"));
    const edges = steps.map((step, place) => [x(step.seq), place + 1 < steps.length ? x(steps[place + 1].seq) : xAt(domain[1])]);
    const base = steps.map(() => 0);
    for (const name of owners) {
      if (!steps.some((step) => step[name] > 0)) continue;
      const up = steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(base[place] + step[name]).toFixed(1)} ${edges[place][1].toFixed(1)},${y(base[place] + step[name]).toFixed(1)}`);
      const down = steps.map((_, place) => `${edges[place][1].toFixed(1)},${y(base[place]).toFixed(1)} ${edges[place][0].toFixed(1)},${y(base[place]).toFixed(1)}`).reverse();
      parts.push(s("path", { d: `M${[...up, ...down].join(" L")}Z`, class: `kv-band kv-band-${name}`, id: `${app.id}-band-${name}`, role: "option", "aria-label": name, "data-owner": name }, s("title", {}, `${name}: click to select what it holds`)));
      steps.forEach((step, place) => { base[place] += step[name]; });
    }
    const lines = [["counted", (step) => step.counted], ["active", (step) => step.held], ...(budgetDrawn ? [["budget", (step) => step.budget]] : []), ...(footprint >= 0 ? [["footprint", (step) => step.grown]] : [])];
    const drawnLines = lines.filter(() => steps.length).map(([name, value]) => [name, `M${steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(value(step)).toFixed(1)} L${edges[place][1].toFixed(1)},${y(value(step)).toFixed(1)}`).join(" L")}`]);
    // all halos below all lines, so that none covers another line
    parts.push(...drawnLines.map(([, d]) => s("path", { d, class: "kv-halo" })), ...drawnLines.map(([name, d]) => s("path", { d, class: `kv-line kv-line-${name}` })));
    const marks = predictedMarks(store, Math.max(1, Math.floor((width - left) / 14)));
    for (const mark of marks) {
      parts.push(s("path", { d: `M${x(mark.seq).toFixed(1)},${(y(mark.counted) - 4).toFixed(1)} l4,4 l-4,4 l-4,-4 z`, class: "kv-predicted" }, s("title", {}, `predicted by the twin after request ${mark.request}: ${bytesWords(mark.counted)} counted`)));
    }
    for (const tick of requestTicks(store.requests.filter((row) => row.began >= 0 && row.request > 0), x, width)) {
      parts.push(s("line", { x1: tick.at, x2: tick.at, y1: tall, y2: tall + 5, class: "kv-rule" }), s("text", { x: tick.at + 2, y: tall + 17, class: "kv-small kv-tick" }, tick.words));
    }
    plot.replaceChildren(...parts);
    drawLegend(steps, lines.map(([name]) => name), { marks: marks.length, every: readingsAStep(store, points), budget: budget && !budgetDrawn ? budget : 0, footprint });
    drawn = `${store.version} ${width} ${app.state.pool}`;
  }

  function drawLegend(steps, lines, { marks, every, budget, footprint }) {
    const last = store.reading(store.seqAt(store.count - 1));
    const predictions = store.tables.predicted.seq?.length ?? 0;
    const notes = [last ? `weights ${bytesWords(last.weights)} not drawn` : "", footprint < 0 ? "" : `footprint of the process ${bytesWords(footprint)}`, budget ? `budget ${bytesWords(budget)} far above` : "", every > 1 ? `each step is the highest of ${every} readings` : ""];
    legend.replaceChildren(...[
      ...owners.filter((name) => steps.some((step) => step[name] > 0)).map((name) => h("span", {}, h("i", { class: `kv-swatch kv-band-${name}` }), name)),
      ...lines.filter(() => steps.length).map((name) => h("span", {}, h("i", { class: `kv-swatch kv-key-${name}` }), LINE_WORDS[name] ?? name)),
      predictions ? h("span", {}, `◆ counted as predicted by the twin${marks < predictions ? ` (${marks} of ${predictions} marked, the furthest off)` : ""}`) : null,
      h("span", {}, notes.filter(Boolean).join("; ")), poolButton(steps),
    ].filter((part) => part !== null));
  }

  function poolButton(steps) {
    const top = steps.reduce((found, step) => Math.max(found, step.pool), 0);
    if (!top) return null;
    const shown = owners.includes("pool");
    return h("button", { class: "kv-mode kv-pool", "aria-pressed": String(shown), title: "Draw the allocator's free buffers, or leave them out. Key: f", onclick: togglePool }, shown ? "pool drawn" : `pool, up to ${bytesWords(top)}, not drawn`);
  }

  function togglePool() {
    app.state.pool = !owners.includes("pool");
    if (app.state.band?.owner === "pool") app.state.band = null;
    app.redraw();
  }

  function show(scene) {
    if (drawn !== `${store.version} ${width} ${app.state.pool}`) drawPlot();
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
    held.replaceChildren(...(found ? [bandWords(found), ...nodeLinks(others, (one) => app.selectBand(owner, { node: one }), "; its nodes: ")] : ["Click a band, or choose one with the up and down keys and press Enter, to select what it holds."]));
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
      note.textContent = "Shift and drag, or [ and ] at its two ends, mark a window: what was allocated in it and not freed by its end. Escape takes it away.";
      return;
    }
    const [from, to] = window;
    windowBand.setAttribute("x", x(from));
    windowBand.setAttribute("width", Math.max(2, x(to) - x(from)));
    const { bytes, nodes, grown } = windowWords(store, from, to);
    note.replaceChildren(`Window, ${windowEdges(from, to)}: allocated in it and not freed by its end: ${bytesWords(bytes)} of snapshots`, ...nodeLinks(nodes.slice(0, 8), app.select, " on "),
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
    const band = pressed && !pressed.moved && !pressed.brush ? bandAt(store.reading(store.seqAt(pressed.place)), pressed.height, owners) : null;
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

  return { element: h("div", {}, legend, svg, held, note), focus: () => svg.focus(), togglePool, show, measure };
}

// Links to nodes with their bytes, words between them.
function nodeLinks(nodes, choose, before) {
  return nodes.flatMap(([node, bytes], place) => [place ? ", " : before,
    h("button", { class: "kv-link", "data-node": node, onclick: () => choose(node) }, `${node < 0 ? "no node yet" : `#${node}`}${bytes ? ` (${bytesWords(bytes)})` : ""}`)]);
}

const windowEdges = (from, to) => (from < 0 ? `what was there before the run${to < 0 ? "" : ` to event ${to}`}` : `events ${from} to ${to}`);

const LINE_WORDS = { active: "active less weights", footprint: "footprint since the first reading" };

function bytesLabel(store, seq) {
  const reading = store.reading(seq);
  if (!reading) return `Bytes by owner over ${many(store.count, "event")}. Nothing was read yet.`;
  const footprint = footprintAt(store, seq);
  const words = [...STACK, "counted", "active", "budget"].map((name) => `${name} ${bytesWords(reading[name])}`);
  return `Bytes by owner over ${many(store.count, "event")}. ${seq < 0 ? "Before the run" : `At event ${seq}`}: ${[...words, ...(footprint < 0 ? [] : [`footprint of the process ${bytesWords(footprint)}`])].join(", ")}. Up and down choose a band, Enter selects what it holds.`;
}
