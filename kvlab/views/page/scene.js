// A moment: which nodes and snapshots are alive, what hangs on what, the active path, who may be evicted. Pure functions of the Store.

const STATE_WEIGHT = ["view", "owned", "lazy"];

class Scene {
  constructor(store, seq, place) {
    this.store = store;
    this.seq = seq;
    this.place = place;
    this.request = store.requestAt(place);
    const { nodes, spans } = store.tables;
    const count = nodes.node?.length ?? 0;
    let top = 0;
    for (let row = 0; row < count; row += 1) if (nodes.node[row] > top) top = nodes.node[row];
    // by node: its row in the table, its first child and its next sibling; -1 for none
    this.row = new Int32Array(top + 1).fill(-1);
    this.firstChild = new Int32Array(top + 1).fill(-1);
    this.nextSibling = new Int32Array(top + 1).fill(-1);
    this.children = new Int32Array(top + 1);
    this.alive = [];
    for (let row = 0; row < count; row += 1) {
      if (nodes.born[row] <= seq && (nodes.died[row] === -1 || nodes.died[row] > seq)) this.row[nodes.node[row]] = row;
    }
    this.tops = [];
    // from the newest down, so that lists of children rise
    for (let node = top; node >= 0; node -= 1) {
      const row = this.row[node];
      if (row < 0) continue;
      this.alive.push(node);
      const parent = nodes.parent[row];
      if (parent >= 0 && parent <= top && parent !== node && this.row[parent] >= 0) {
        this.nextSibling[node] = this.firstChild[parent];
        this.firstChild[parent] = node;
        this.children[parent] += 1;
      } else this.tops.push(node);
    }
    this.tops.reverse();
    this.counted = new Float64Array(top + 1);
    this.spansOf = new Map();
    this.loose = [];
    const spanCount = spans.snapshot?.length ?? 0;
    for (let row = 0; row < spanCount; row += 1) {
      if (spans.born[row] > seq || (spans.died[row] !== -1 && spans.died[row] <= seq)) continue;
      const node = spans.node[row];
      if (node < 0 || node > top) {
        this.loose.push(row);
        continue;
      }
      const held = this.spansOf.get(node);
      if (held) held.push(row);
      else this.spansOf.set(node, [row]);
      this.counted[node] += Math.max(0, spans.counted[row]);
    }
    this.frontier = this.#frontier();
    this.path = this.pathTo(this.frontier);
    this.active = new Set(this.path);
  }

  #frontier() {
    const moved = this.store.marks("frontier_moved", this.seq)[0];
    return moved ? moved.node : -1;
  }

  exists(node) {
    return node >= 0 && node < this.row.length && this.row[node] >= 0;
  }

  node(node) {
    const row = this.row[node];
    const { nodes } = this.store.tables;
    return { node, parent: nodes.parent[row], start: Math.max(0, nodes.start[row]), end: Math.max(nodes.start[row], nodes.end[row], 0), user: nodes.user[row] === 1, request: nodes.request[row], born: nodes.born[row] };
  }

  // From the root to `node`; a node seen twice ends the walk, so that damaged data cannot hang it.
  pathTo(node) {
    const path = [];
    const seen = new Set();
    while (this.exists(node) && !seen.has(node)) {
      seen.add(node);
      path.push(node);
      node = this.store.tables.nodes.parent[this.row[node]];
    }
    return path.reverse();
  }

  spans(node) {
    const { spans } = this.store.tables;
    return (this.spansOf.get(node) ?? []).map((row) => ({ snapshot: spans.snapshot[row], group: spans.group[row], start: spans.start[row], end: spans.end[row], state: this.store.about.states[spans.state[row]] ?? "missing", counted: spans.counted[row], retained: spans.retained[row], request: spans.request[row], born: spans.born[row] }));
  }

  // What the snapshots of a node are, a state for each layer group.
  states(node) {
    const found = this.store.about.groups.map(() => "missing");
    for (const span of this.spans(node)) if (span.group >= 0 && span.group < found.length) found[span.group] = span.state;
    return found;
  }

  // The state that a node is drawn in: any view first, then owned, then lazy.
  state(node) {
    const states = this.spans(node).map((span) => span.state);
    return STATE_WEIGHT.find((state) => states.includes(state)) ?? "missing";
  }

  // How many tokens the live buffers hold.
  get offset() {
    return this.store.count ? this.store.tables.events.offset[this.place] : 0;
  }

  // Why eviction does not take a node; "" when it may, and when that was not recorded.
  protectedBy(node) {
    return this.store.rank(node, this.seq)?.protection ?? "";
  }

  // Nodes that eviction may take, first one first; none when the order was not recorded.
  candidates() {
    if (this.order) return this.order;
    const ranks = this.alive.map((node) => this.store.rank(node, this.seq)).filter((rank) => rank?.protection === "" && rank.keys[0] !== null);
    ranks.sort((a, b) => a.keys.reduce((found, value, place) => found || value - b.keys[place], 0));
    this.order = ranks.map((rank) => rank.keys.at(-1));
    return this.order;
  }
}

// The tree as rows, depth first, children in the order of their ids: a row a node. `folded(node)` hides what is below.
function outlineRows(scene, folded) {
  const rows = [];
  const stack = [...scene.tops].reverse().map((node) => [node, 0]);
  while (stack.length) {
    const [node, depth] = stack.pop();
    const hidden = scene.firstChild[node] >= 0 && folded(node, depth);
    rows.push({ node, depth, hidden });
    if (hidden) continue;
    const below = [];
    for (let child = scene.firstChild[node]; child >= 0; child = scene.nextSibling[child]) below.push([child, depth + 1]);
    for (let place = below.length - 1; place >= 0; place -= 1) stack.push(below[place]);
  }
  return rows;
}

const OPEN_NODES = 200;

// Above OPEN_NODES nodes only the active path is open at first.
function foldedAtFirst(scene) {
  return scene.alive.length <= OPEN_NODES ? () => false : (node) => node !== 0 && !scene.active.has(node);
}

// A line for each row; tests/views/test_dashboard_text.py holds it against the same lines made in Python.
function sceneText(scene) {
  const lines = outlineRows(scene, () => false).map(({ node, depth }) => {
    const { start, end, user } = scene.node(node);
    const mark = scene.active.has(node) ? "*" : "-";
    return `${"  ".repeat(depth)}${mark} #${node} [${start}, ${end}) ${scene.state(node)} ${scene.counted[node]}${user ? " user" : ""}`;
  });
  return lines.join("\n");
}
