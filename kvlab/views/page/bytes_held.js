// What a band of bytes holds at a moment: nodes, layers, and the event, request and Python code that last changed it. Pure functions of the Store.

// The band at a height in the stack, in bytes from its bottom, and the height within it; null above the stack.
function bandAt(reading, height, owners = STACK) {
  let base = 0;
  for (const owner of owners) {
    const bytes = Math.max(0, reading?.[owner] ?? 0);
    if (height >= base && height < base + bytes) return { owner, within: (height - base) / bytes };
    base += bytes;
  }
  return null;
}

// `node` chooses one of the band's nodes, `within` (0 to 1) the one that lies there when they are stacked by number; else the largest is chosen.
function bandHolds(scene, owner, { node = -1, within = -1 } = {}) {
  const { store } = scene;
  const bytes = Math.max(0, store.reading(scene.seq)?.[owner] ?? 0);
  const spans = owner === "snapshots" ? retainedSpans(scene) : [];
  const nodes = owner === "live" ? scene.path.filter((one) => one !== 0).reverse().map((one) => [one, 0]) : bytesByNode(spans);
  const chosen = nodes.some(([one]) => one === node) ? node : within >= 0 && owner === "snapshots" ? nodeWithin(nodes, within) : nodes[0]?.[0] ?? -1;
  const own = spans.filter((span) => span.node === chosen);
  const event = own.length ? Math.max(...own.map((span) => tookBytesAt(store, span.snapshot))) : changedAt(scene, owner);
  const groups = owner === "live" ? liveBuffers(scene).map((live) => live.group) : [...new Set(own.map((span) => span.group))];
  return {
    owner, bytes, node: chosen, nodes, event,
    layers: groups.sort((a, b) => a - b).map((group) => store.about.groups[group]?.label ?? `group ${group}`),
    request: event < 0 ? 0 : own.find((span) => tookBytesAt(store, span.snapshot) === event)?.request ?? store.requestAt(store.placeOf(event)),
    callSite: store.callSite(event),
  };
}

function retainedSpans(scene) {
  const spans = [...scene.spansOf.keys()].flatMap((node) => scene.spans(node).map((span) => ({ ...span, node })));
  return spans.filter((span) => span.retained > 0);
}

function bytesByNode(spans) {
  const held = new Map();
  for (const span of spans) held.set(span.node, (held.get(span.node) ?? 0) + span.retained);
  return [...held].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

function nodeWithin(nodes, within) {
  const stacked = [...nodes].sort((a, b) => a[0] - b[0]);
  let left = within * stacked.reduce((sum, [, bytes]) => sum + bytes, 0);
  return (stacked.find(([, bytes]) => (left -= bytes) < 0) ?? stacked.at(-1) ?? [-1])[0];
}

// The last event that gave bytes to an owner or took them back; where none was recorded, the reading that first saw them as they are.
function changedAt(scene, owner) {
  const { moves, readings } = scene.store.tables;
  const code = scene.store.about.owners?.indexOf(owner) ?? -1;
  for (let row = code < 0 ? -1 : lastUpTo(moves.seq ?? [], scene.seq); row >= 0; row -= 1) if (moves.owner[row] === code) return moves.seq[row];
  let row = lastUpTo(readings.seq ?? [], scene.seq);
  while (row > 0 && readings[owner][row - 1] === readings[owner][row]) row -= 1;
  return row < 0 || !readings[owner][row] ? -1 : readings.seq[row];
}

const CALLERS = 3;

function bandWords(held) {
  const nodes = held.nodes.length ? `; on ${many(held.nodes.length, "node")}${held.node < 0 ? "" : `, #${held.node} chosen`}` : "; on no node";
  const event = held.event < 0 ? "" : `; last changed by event ${held.event}${held.request > 0 ? ` in request ${held.request}` : ""}`;
  const callers = held.callSite ? held.callSite.split("\n") : [];
  const site = callers.length ? `; allocated at ${callers.slice(0, CALLERS).join(" ← ")}${callers.length > CALLERS ? ` ← … ${callers.at(-1)}` : ""}` : "";
  return `${held.owner}: ${bytesWords(held.bytes)}${nodes}${held.layers.length ? `; ${held.layers.join(", ")}` : ""}${event}${site}`;
}
