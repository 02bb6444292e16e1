// Bytes by owner over the events: the points at which the stack changes, which marks are drawn, and what a window of time allocated. Pure functions of the Store.

const STACK = ["snapshots", "live", "transient", "unattributed", "pool"];
const LINES = ["budget", "counted", "active"];

// In bytes; of more than `most` readings each step is the highest of so many, so that no peak is lost; the last reading stays.
// `held` is active less weights, `grown` the process's footprint less its first.
function bytesSteps(store, most = 1500) {
  const { readings } = store.tables;
  const count = readings.seq?.length ?? 0;
  const every = readingsAStep(store, most);
  const steps = [];
  let footprint = -1;
  let first = -1;
  let best = null;
  for (let row = 0; row < count; row += 1) {
    if (readings.footprint[row] >= 0) footprint = readings.footprint[row];
    if (first < 0) first = footprint;
    const height = readings.active[row] > 0 ? readings.active[row] : STACK.reduce((sum, name) => sum + Math.max(0, readings[name][row]), 0);
    if (!best || height >= best.height) best = { row, height, footprint };
    const last = row + 1 === count;
    if ((row + 1) % every && !last) continue;
    steps.push(stepOf(readings, best.row, best.footprint, first));
    if (last && best.row !== row) steps.push(stepOf(readings, row, footprint, first));
    best = null;
  }
  return steps;
}

const readingsAStep = (store, most) => Math.max(1, Math.ceil((store.tables.readings.seq?.length ?? 0) / most));

function stepOf(readings, row, footprint, first) {
  const step = { seq: readings.seq[row], request: readings.request[row], footprint };
  for (const name of [...STACK, ...LINES, "weights"]) step[name] = Math.max(0, readings[name][row]);
  step.held = step.active ? Math.max(0, step.active - step.weights) : 0;
  step.grown = footprint < 0 ? 0 : Math.max(0, footprint - first);
  return step;
}

// Whose bytes are stacked. Unless it is given (true or false), the pool is left out where it would flatten the rest: above the most that all else holds.
function drawnOwners(steps, pool = null) {
  const rest = STACK.filter((name) => name !== "pool");
  const most = (value) => steps.reduce((top, step) => Math.max(top, value(step)), 0);
  const flattens = most((step) => step.pool) > most((step) => Math.max(step.held, rest.reduce((sum, name) => sum + step[name], 0)));
  return (pool ?? !flattens) ? STACK : rest;
}

// The twin's predictions to be marked: at most `most`, of those that would lie together the one furthest from what was counted.
function predictedMarks(store, most) {
  const { predicted, events } = store.tables;
  const marks = new Map();
  (predicted.seq ?? []).forEach((seq, row) => {
    const cell = Math.floor((store.placeOf(seq) * most) / Math.max(1, events.seq.length));
    const off = Math.abs(predicted.counted[row] - (store.countedAt(seq) ?? 0));
    if (!marks.has(cell) || off >= marks.get(cell).off) marks.set(cell, { seq, request: predicted.request[row], counted: predicted.counted[row], off });
  });
  return [...marks.values()];
}

// The last footprint that was read up to a moment; -1 before the first.
function footprintAt(store, seq) {
  const { readings } = store.tables;
  let row = lastUpTo(readings.seq ?? [], seq);
  while (row >= 0 && readings.footprint[row] < 0) row -= 1;
  return row < 0 ? -1 : readings.footprint[row];
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
    // of a snapshot's versions only the one that exists at the end, and only if it took bytes in the window
    if (!held || spans.born[row] > to || spans.retained[row] <= 0) continue;
    if (tookBytesAt(store, spans.snapshot[row]) <= from) continue;
    nodes.set(spans.node[row], (nodes.get(spans.node[row]) ?? 0) + spans.retained[row]);
    bytes += spans.retained[row];
  }
  const grown = before && after ? STACK.map((name) => [name, after[name] - before[name]]).filter(([, value]) => value > 0) : [];
  return { bytes, nodes: [...nodes].sort((a, b) => b[1] - a[1]), grown };
}

// The event with which a snapshot began to hold bytes.
function tookBytesAt(store, snapshot) {
  const { spans } = store.tables;
  store.ownedRows ??= { upTo: 0, first: new Map() };
  for (let at = store.ownedRows.upTo; at < spans.snapshot.length; at += 1) {
    if (spans.retained[at] > 0 && !store.ownedRows.first.has(spans.snapshot[at])) store.ownedRows.first.set(spans.snapshot[at], spans.born[at]);
  }
  store.ownedRows.upTo = spans.snapshot.length;
  return store.ownedRows.first.get(snapshot) ?? -1;
}
