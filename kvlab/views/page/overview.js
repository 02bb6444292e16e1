// The whole trie at once: x is the token offset, a leaf takes a line, a chain lies on one line. Drawn on a canvas, so 20,000 nodes are quick.

// What stands where: a line (y) for each node, in the order of the outline.
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

function overviewView(app) {
  const canvas = h("canvas", { class: "kv-overview", tabindex: "0", role: "img" });
  let scene = null;
  let where = null;

  const ink = (name) => app.colour(name);

  function size() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    return { ratio, width, height };
  }

  function draw() {
    const { ratio, width, height } = size();
    if (!width) return;
    const { line, lines } = overviewLines(scene);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const extent = app.extent();
    const step = Math.min(16, (height - 8) / lines);
    const thick = Math.max(1, Math.min(10, step * 0.62));
    const x = (token) => 4 + ((width - 8) * token) / extent;
    const y = (node) => 4 + (line[node] + 0.5) * step;
    where = { line, step, extent, width };
    const links = new Path2D();
    const paths = {};
    for (const state of ["owned", "view", "lazy", "missing"]) paths[state] = new Path2D();
    const active = new Path2D();
    for (const node of scene.alive) {
      const { start, end, parent } = scene.node(node);
      if (end <= start) continue;
      const left = x(start);
      const wide = Math.max(1, x(end) - left - 1);
      const top = y(node) - thick / 2;
      paths[scene.state(node)].rect(left, top, wide, thick);
      if (scene.exists(parent) && line[parent] !== line[node]) {
        links.moveTo(left, y(parent));
        links.lineTo(left, y(node));
      }
      if (scene.active.has(node)) active.rect(left - 1, top - 2, wide + 2, thick + 4);
    }
    context.strokeStyle = ink("quiet");
    context.lineWidth = 0.6;
    context.stroke(links);
    for (const state of ["owned", "view"]) {
      context.fillStyle = ink(state);
      context.fill(paths[state]);
    }
    context.lineWidth = 1;
    for (const state of ["lazy", "missing", "view"]) {
      context.setLineDash(state === "missing" ? [2, 2] : state === "view" ? [5, 2] : []);
      context.strokeStyle = ink(state === "view" ? "ink" : state);
      context.stroke(paths[state]);
    }
    context.setLineDash([]);
    context.strokeStyle = ink("ink");
    context.lineWidth = 1.4;
    context.stroke(active);
    context.fillStyle = ink("accent");
    for (const [node, marks] of app.hits) {
      if (scene.exists(node)) for (const [from, to] of marks) context.fillRect(x(from), y(node) - thick / 2 - 2, Math.max(2, x(to) - x(from)), thick + 4);
    }
    const chosen = app.state.selected;
    if (scene.exists(chosen)) {
      const { start, end } = scene.node(chosen);
      context.lineWidth = 2;
      context.strokeStyle = ink("accent");
      context.strokeRect(x(start) - 3, y(chosen) - thick / 2 - 3, Math.max(4, x(end) - x(start) + 5), thick + 6);
    }
    canvas.setAttribute("aria-label", `The trie at event ${scene.seq}: ${scene.alive.length} nodes on ${lines} lines, from left to right by token offset up to ${extent}. ` +
      "Arrow keys select a node: left its parent, right its first child, up and down its neighbours.");
  }

  function nodeAt(event) {
    if (!where) return -1;
    const wanted = Math.floor((event.offsetY - 4) / where.step);
    const token = ((event.offsetX - 4) / (where.width - 8)) * where.extent;
    let best = -1;
    for (const node of scene.alive) {
      if (Math.abs(where.line[node] - wanted) > (where.step < 4 ? 4 / where.step : 0)) continue;
      const { start, end } = scene.node(node);
      if (start <= token && token < end && (best < 0 || Math.abs(where.line[node] - wanted) < Math.abs(where.line[best] - wanted))) best = node;
    }
    return best;
  }

  function neighbour(node, key) {
    if (!scene.exists(node)) return 0;
    const parent = scene.node(node).parent;
    if (key === "ArrowLeft") return scene.exists(parent) ? parent : node;
    if (key === "ArrowRight") return scene.firstChild[node] >= 0 ? scene.firstChild[node] : node;
    if (key === "ArrowDown") return scene.nextSibling[node] >= 0 ? scene.nextSibling[node] : node;
    let before = scene.exists(parent) ? scene.firstChild[parent] : node;
    while (before >= 0 && before !== node && scene.nextSibling[before] !== node) before = scene.nextSibling[before];
    return before >= 0 ? before : node;
  }

  canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node >= 0) app.select(node);
  });
  canvas.addEventListener("mousemove", (event) => app.hover(nodeAt(event)));
  canvas.addEventListener("mouseleave", () => app.hover(-1));
  canvas.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    app.select(neighbour(app.state.selected, event.key));
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    element: canvas,
    focus: () => canvas.focus(),
    show(next) {
      scene = next;
      draw();
    },
  };
}
