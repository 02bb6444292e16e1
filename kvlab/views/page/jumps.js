// Places in time worth going to: the next event, phase and request, and moments that questions are about. Each returns a place or -1.

function placeWhere(store, from, wanted) {
  for (let place = from; place < store.count; place += 1) if (wanted(place)) return place;
  return -1;
}

const NEXT = {
  event: (store, place) => (place + 1 < store.count ? place + 1 : -1),
  phase: (store, place) => placeWhere(store, place + 1, (at) => store.kindAt(at) === "bytes_read"),
  request: (store, place) => placeWhere(store, place + 1, (at) => store.kindAt(at) === "request_began"),
  split: (store, place) => placeWhere(store, place + 1, (at) => store.kindAt(at) === "node_split"),
  eviction: (store, place) => placeWhere(store, place + 1, (at) => store.kindAt(at) === "evicted"),
};

function versionsOf(store, node) {
  const { nodes } = store.tables;
  const rows = [];
  (nodes.node ?? []).forEach((one, row) => { if (one === node) rows.push({ born: nodes.born[row], died: nodes.died[row] }); });
  return rows;
}

const JUMPS = {
  "first time over budget": (store) => {
    const { readings } = store.tables;
    const row = (readings.seq ?? []).findIndex((_, at) => readings.budget[at] > 0 && readings.counted[at] > readings.budget[at]);
    return row < 0 ? -1 : store.placeOf(readings.seq[row]);
  },
  "first wrong position": (store) => (store.tables.wrong.seq?.length ? store.placeOf(store.tables.wrong.seq[0]) : -1),
  "first split": (store) => NEXT.split(store, -1),
  "first eviction": (store) => NEXT.eviction(store, -1),
  "the selected node's birth": (store, node) => {
    const rows = versionsOf(store, node);
    return rows.length ? store.placeOf(rows[0].born) : -1;
  },
  "the selected node's death": (store, node) => {
    const rows = versionsOf(store, node);
    return rows.length && rows.at(-1).died !== -1 ? store.placeOf(rows.at(-1).died) : -1;
  },
};

// Why there is no such moment.
function jumpNone(store, name, node) {
  const why = {
    "first time over budget": "counted bytes were never above the budget",
    "first wrong position": "no restored position was found wrong",
    "first split": "no node was split",
    "first eviction": "nothing was evicted",
    "the selected node's birth": node < 0 ? "no node is selected" : `node #${node} never was there`,
    "the selected node's death": node < 0 ? "no node is selected" : `node #${node} is there to the end`,
  };
  return `There is no moment for “${name}”: ${why[name]}.`;
}
