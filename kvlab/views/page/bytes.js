// Bytes by owner over the events: stacked steps with the budget, the twin's prediction and active bytes; click or drag moves the moment.

const STACK = ["snapshots", "live", "transient", "unattributed", "pool"];
const LINES = ["budget", "counted", "active"];

// What stands where: from the readings, the points at which the stack changes, in bytes. At most `most` of them, each request's last one stays.
function bytesSteps(store, most = 1500) {
  const { readings } = store.tables;
  const count = readings.seq?.length ?? 0;
  const every = Math.ceil(count / most);
  const steps = [];
  for (let row = 0; row < count; row += 1) {
    const lastOfRequest = row + 1 === count || readings.request[row + 1] !== readings.request[row];
    if (every > 1 && row % every && !lastOfRequest) continue;
    const step = { seq: readings.seq[row], request: readings.request[row] };
    for (const name of [...STACK, ...LINES, "weights"]) step[name] = Math.max(0, readings[name][row]);
    step.held = step.active ? Math.max(0, step.active - step.weights) : 0;
    steps.push(step);
  }
  return steps;
}

// What was allocated in the window and still is there at its end: snapshots by node, and how much each owner grew.
function windowWords(store, from, to) {
  const before = store.reading(from);
  const after = store.reading(to);
  const { spans } = store.tables;
  const nodes = new Map();
  let bytes = 0;
  for (let row = 0; row < (spans.snapshot?.length ?? 0); row += 1) {
    const held = spans.died[row] === -1 || spans.died[row] > to;
    // of a snapshot's versions only the one that lives at the end, and only if it took bytes in the window
    if (!held || spans.born[row] > to || spans.retained[row] <= 0) continue;
    if (takenBefore(store, row, from)) continue;
    nodes.set(spans.node[row], (nodes.get(spans.node[row]) ?? 0) + spans.retained[row]);
    bytes += spans.retained[row];
  }
  const grown = before && after ? STACK.map((name) => [name, after[name] - before[name]]).filter(([, value]) => value > 0) : [];
  return { bytes, nodes: [...nodes].sort((a, b) => b[1] - a[1]), grown };
}

function takenBefore(store, row, from) {
  const { spans } = store.tables;
  store.ownedRows ??= { upTo: 0, first: new Map() };
  for (let at = store.ownedRows.upTo; at < spans.snapshot.length; at += 1) {
    if (spans.retained[at] > 0 && !store.ownedRows.first.has(spans.snapshot[at])) store.ownedRows.first.set(spans.snapshot[at], spans.born[at]);
  }
  store.ownedRows.upTo = spans.snapshot.length;
  return store.ownedRows.first.get(spans.snapshot[row]) <= from;
}

function bytesView(app) {
  const store = app.store;
  const tall = 150;
  const plot = s("g");
  const cursor = s("line", { class: "kv-cursor", y1: 0, y2: tall });
  const windowBand = s("rect", { class: "kv-window", y: 0, height: tall, width: 0 });
  const svg = s("svg", { class: "kv-bytes", height: tall + 22, role: "img" }, plot, windowBand, cursor);
  const legend = h("p", { class: "kv-note kv-legend" });
  const note = h("p", { class: "kv-note kv-window-words", "aria-live": "polite" });
  let drawn = -1;
  let drawnWidth = 0;
  let domain = [0, 1];
  let width = 600;

  // An axis of places: every event takes the same room, whatever its time.
  const x = (seq) => 56 + ((width - 64) * (store.placeOf(seq) - domain[0])) / Math.max(1, domain[1] - domain[0]);
  const placeAt = (pixel) => Math.round(domain[0] + ((pixel - 56) / (width - 64)) * (domain[1] - domain[0]));

  function drawPlot() {
    domain = [0, Math.max(1, store.count - 1)];
    svg.setAttribute("viewBox", `0 0 ${width} ${tall + 22}`);
    const steps = bytesSteps(store);
    const parts = [];
    const stackTop = steps.reduce((top, step) => Math.max(top, STACK.reduce((sum, name) => sum + step[name], 0), step.counted, step.held), 1);
    const budget = steps.length ? steps.at(-1).budget : 0;
    const budgetDrawn = budget > 0 && budget <= 3 * stackTop;
    const most = 1.06 * (budgetDrawn ? Math.max(stackTop, budget) : stackTop);
    const y = (value) => tall - (tall * Math.min(value, most)) / most;
    const edges = steps.map((step, place) => [x(step.seq), place + 1 < steps.length ? x(steps[place + 1].seq) : x(store.seqAt(store.count - 1))]);
    const base = steps.map(() => 0);
    for (const name of STACK) {
      if (!steps.some((step) => step[name] > 0)) continue;
      const up = steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(base[place] + step[name]).toFixed(1)} ${edges[place][1].toFixed(1)},${y(base[place] + step[name]).toFixed(1)}`);
      const down = steps.map((_, place) => `${edges[place][1].toFixed(1)},${y(base[place]).toFixed(1)} ${edges[place][0].toFixed(1)},${y(base[place]).toFixed(1)}`).reverse();
      parts.push(s("path", { d: `M${[...up, ...down].join(" L")}Z`, class: `kv-band kv-band-${name}`, "data-owner": name }, s("title", {}, `${name}: click to go to that moment`)));
      steps.forEach((step, place) => { base[place] += step[name]; });
    }
    const line = (name, value) => {
      const points = steps.map((step, place) => `${edges[place][0].toFixed(1)},${y(value(step)).toFixed(1)} L${edges[place][1].toFixed(1)},${y(value(step)).toFixed(1)}`);
      if (points.length) parts.push(s("path", { d: `M${points.join(" L")}`, class: "kv-halo" }), s("path", { d: `M${points.join(" L")}`, class: `kv-line kv-line-${name}` }));
    };
    line("counted", (step) => step.counted);
    line("active", (step) => step.held);
    if (budgetDrawn) line("budget", (step) => step.budget);
    const { predicted } = store.tables;
    (predicted.seq ?? []).forEach((seq, row) => parts.push(s("path", { d: `M${x(seq)},${y(predicted.counted[row]) - 4} l4,4 l-4,4 l-4,-4 z`, class: "kv-predicted" }, s("title", {}, `predicted by the twin after request ${predicted.request[row]}: ${bytesWords(predicted.counted[row])} counted`))));
    for (const part of [0, 0.5, 1]) parts.push(s("text", { x: 50, y: y(most * part / 1.06) + 4, "text-anchor": "end", class: "kv-small" }, bytesWords(Math.round(most * part / 1.06))));
    requestTicks(parts);
    plot.replaceChildren(...parts);
    const last = store.reading(store.seqAt(store.count - 1));
    legend.replaceChildren(...[...STACK.filter((name) => steps.some((step) => step[name] > 0)).map((name) => h("span", {}, h("i", { class: `kv-swatch kv-band-${name}` }), name)),
      ...["counted", "active", "budget"].filter((name) => name !== "budget" || budgetDrawn).map((name) => h("span", {}, h("i", { class: `kv-swatch kv-key-${name}` }), name === "active" ? "active less weights" : name)),
      predicted.seq?.length ? h("span", {}, "◆ counted as predicted by the twin") : null,
      h("span", {}, last ? `weights ${bytesWords(last.weights)} not drawn${budget && !budgetDrawn ? `; budget ${bytesWords(budget)} far above` : ""}` : "no bytes were read yet")].filter((part) => part !== null));
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
    const reading = store.reading(scene.seq);
    svg.setAttribute("aria-label", `Bytes by owner over ${store.count} events. ` + (reading ? `At event ${scene.seq}: ${[...STACK, "counted", "active", "budget"].map((name) => `${name} ${bytesWords(reading[name])}`).join(", ")}.` : "Nothing was read yet."));
    showWindow();
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
  const pixel = (event) => ((event.clientX - svg.getBoundingClientRect().left) * width) / Math.max(1, svg.getBoundingClientRect().width);
  svg.addEventListener("pointerdown", (event) => {
    pressed = { place: placeAt(pixel(event)), brush: event.shiftKey };
    svg.setPointerCapture(event.pointerId);
    if (pressed.brush) app.setWindow(null);
    else app.go(pressed.place);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const place = placeAt(pixel(event));
    if (pressed.brush) app.setWindow([store.seqAt(Math.min(pressed.place, place)), store.seqAt(Math.max(pressed.place, place))]);
    else app.go(place);
  });
  svg.addEventListener("pointerup", () => { pressed = null; });

  function measure() {
    width = Math.max(300, svg.clientWidth || 600);
  }

  return { element: h("div", {}, legend, svg, note), show, measure };
}
