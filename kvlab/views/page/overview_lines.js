// Where nodes are when the whole trie is drawn at once. Pure functions.

// A line (y) for each node, in the order of the outline.
function overviewLines(scene) {
  const line = new Float64Array(scene.row.length).fill(-1);
  let lines = 0;
  for (const { node } of outlineRows(scene, () => false)) {
    const parent = scene.store.tables.nodes.parent[scene.row[node]];
    const follows = scene.exists(parent) && parent !== node && scene.firstChild[parent] === node;
    line[node] = follows ? line[parent] : lines++;
  }
  return { line, lines: Math.max(1, lines) };
}

const LINE = 16;
const CLOSEST = 3;

// How lines share `height` pixels: `step` apart, and every so many of them drawn, so that lines stay apart from each other.
function overviewPitch(lines, height) {
  const every = Math.max(1, Math.ceil((CLOSEST * lines) / height));
  return { every, step: Math.min(LINE, height / Math.ceil(lines / every)) };
}

// Nodes that are drawn: those on every so many lines, branch points, and what one must see (`always`).
function overviewDrawn(scene, line, every, always) {
  return every === 1 ? scene.alive : scene.alive.filter((node) => line[node] % every === 0 || scene.children[node] > 1 || always.has(node));
}

// Names of nodes, where they have room on their own edge or beyond it: [{ node, words, at, inside }] in pixels.
function overviewNames(scene, nodes, { x, step, right }) {
  if (step < 11) return [];
  return nodes.flatMap((node) => {
    const { start, end } = scene.node(node);
    const words = `#${node}`;
    const wide = labelWidth(words) + 4;
    if (end <= start) return [];
    if (x(end) - x(start) >= wide) return [{ node, words, at: (x(start) + x(end)) / 2, inside: true }];
    return scene.children[node] === 0 && x(end) + wide <= right ? [{ node, words, at: x(end) + 4, inside: false }] : [];
  });
}
