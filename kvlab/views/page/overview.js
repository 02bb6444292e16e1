// The whole trie at once: x is the token offset, a leaf takes a line, a chain lies on one line. Drawn on a canvas, so 20,000 nodes are quick.

const FOOT = 20;

const ordinal = (count) => `${count}${count % 100 > 10 && count % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][count % 10] ?? "th"}`;

function overviewView(app) {
  const store = app.store;
  const canvas = h("canvas", { class: "kv-overview", tabindex: "0", role: "img" });
  let scene = null;
  let where = null;
  const note = h("p", { class: "kv-note" });

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
    const below = height - FOOT;
    const { every, step } = overviewPitch(lines, below - 8);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const extent = app.extent();
    const thick = Math.max(1.5, Math.min(11, step * 0.62));
    const x = (token) => EDGE + ((width - 2 * EDGE) * token) / extent;
    const y = (node) => 4 + (Math.floor(line[node] / every) + 0.5) * step;
    const drawn = overviewDrawn(scene, line, every, new Set([...scene.active, app.state.selected]));
    where = { line, every, step, extent, width, drawn };
    const links = new Path2D();
    const paths = {};
    for (const state of ["owned", "view", "lazy", "missing"]) paths[state] = new Path2D();
    const active = new Path2D();
    for (const node of drawn) {
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
    context.font = `600 10px ${getComputedStyle(canvas).fontFamily}`;
    context.textBaseline = "middle";
    for (const name of overviewNames(scene, drawn, { x, step, right: width })) {
      // on the colour of the bar the words are on paper
      const wide = context.measureText(name.words).width;
      const left = name.inside ? name.at - wide / 2 : name.at;
      context.fillStyle = ink("paper");
      if (name.inside) context.fillRect(left - 2, y(name.node) - 5, wide + 4, 10);
      context.fillStyle = ink("ink");
      context.fillText(name.words, left, y(name.node) + 0.5);
    }
    drawAxis(context, { x, extent, width, below });
    const shown = `${many(scene.alive.length, "node")} on ${many(lines, "line")}${every > 1 ? `; every ${ordinal(every)} line is drawn, and the active path` : ""}`;
    note.textContent = `${shown}. A line is a path to a leaf, x its token positions.`;
    canvas.setAttribute("aria-label", `The trie ${scene.seq < 0 ? "before the run" : `at event ${scene.seq}`}: ${shown}; from left to right by token offset up to ${extent}. ` +
      "Arrow keys select a node: left its parent, right its first child, up and down its neighbours.");
  }

  function drawAxis(context, { x, extent, width, below }) {
    context.strokeStyle = context.fillStyle = ink("quiet");
    context.lineWidth = 1;
    context.font = `10px ${getComputedStyle(canvas).fontFamily}`;
    context.beginPath();
    context.moveTo(EDGE, below + 0.5);
    context.lineTo(width - EDGE, below + 0.5);
    for (const tick of tokenTicks(extent, Math.floor(width / 70))) {
      context.moveTo(x(tick.at), below);
      context.lineTo(x(tick.at), below + 4);
      const wide = context.measureText(tick.words).width;
      context.fillText(tick.words, Math.max(2, Math.min(width - wide - 2, x(tick.at) - wide / 2)), below + 11);
    }
    context.stroke();
  }

  function nodeAt(event) {
    if (!where) return -1;
    const wanted = Math.floor((event.offsetY - 4) / where.step);
    const token = ((event.offsetX - EDGE) / (where.width - 2 * EDGE)) * where.extent;
    const off = (node) => Math.abs(Math.floor(where.line[node] / where.every) - wanted);
    let best = -1;
    for (const node of where.drawn) {
      if (off(node) > (where.step < 5 ? 1 : 0)) continue;
      const { start, end } = scene.node(node);
      if (start <= token && token < end && (best < 0 || off(node) < off(best))) best = node;
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
    element: h("div", {}, canvas, note),
    focus: () => canvas.focus(),
    measure() {
      canvas.style.height = `${outlineSizes(store).rows * ROW + 22}px`;
    },
    show(next) {
      scene = next;
      draw();
    },
  };
}
