// How the outline is laid out: what layer groups are called, how many rows and how wide columns are. Pure functions of the Store.

const LEAST_ROWS = 5;
const MOST_ROWS = 16;

// What a layer group is called in a few words: by its kind, where no other group is of that kind.
function groupName(store, group) {
  const { kind, label } = store.about.groups[group];
  return store.about.groups.filter((one) => one.kind === kind).length > 1 ? label : kind;
}

// The letter above a group's chips: the first one of its kind, with a number where kinds share it.
function groupLetter(store, group) {
  const letters = store.about.groups.map((one) => one.kind.charAt(0).toUpperCase());
  const same = letters.map((letter, place) => (letter === letters[group] ? place : -1)).filter((place) => place >= 0);
  return same.length > 1 ? `${letters[group]}${same.indexOf(group) + 1}` : letters[group];
}

const groupsWords = (store) => store.about.groups.map((one, group) => `${groupLetter(store, group)} = ${one.label}`).join("; ");

// Pixels by which a row is set in: less for each further step down.
const indent = (depth) => 10 * Math.min(depth, 6) + 3 * Math.min(18, Math.max(0, depth - 6));

// How many rows the outline has room for, and how wide in pixels its columns of numbers are.
function outlineSizes(store) {
  if (store.sizes?.version === store.version) return store.sizes;
  const { nodes } = store.tables;
  const digits = (value) => String(Math.max(0, value)).length;
  let top = 0;
  let deepest = 0;
  const depths = new Map();
  (nodes.node ?? []).forEach((node, row) => {
    const depth = (depths.get(nodes.parent[row]) ?? -1) + 1;
    depths.set(node, depth);
    if (node > top) top = node;
    if (depth > deepest) deepest = depth;
  });
  const request = store.requests.reduce((most, row) => Math.max(most, row.request), 0);
  store.sizes = {
    version: store.version,
    rows: Math.max(LEAST_ROWS, Math.min(MOST_ROWS, mostAlive(nodes, MOST_ROWS))),
    columns: { label: 62 + 9 * (1 + digits(top)) + Math.min(70, indent(deepest)), chips: Math.max(30, 15 * store.about.groups.length + 4), from: Math.max(34, 6 + 8 * (1 + digits(request))), used: Math.max(46, 12 + 8 * digits(store.seqAt(store.count - 1))) },
  };
  return store.sizes;
}

// How many nodes there were at most at one moment; a run of many versions of nodes is taken to have `enough`.
function mostAlive({ node = [], born = [], died = [] }, enough) {
  if (node.length > 50 * enough) return enough;
  const turns = [...born.map((seq) => [seq, 1]), ...died.filter((seq) => seq !== -1).map((seq) => [seq, -1])].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let alive = 0;
  return turns.reduce((most, [, by]) => Math.max(most, alive += by), 0);
}
