// The trie as an outline: a row a node, keyed by node, so that a split slides apart and a merge slides together.

const ROW = 22;
const TWEEN_MS = 240;
const LETTER = { owned: "O", lazy: "L", view: "V", missing: "–" };

// the same words again would still make the browser lay the row out
function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

function outlineView(app) {
  const store = app.store;
  const sheet = h("div", { class: "kv-sheet" });
  const body = h("div", {
    class: "kv-outline", role: "tree", tabindex: "0", "aria-label": "Prefix trie, one row a node. Arrow keys move and fold, Enter selects.",
  }, sheet);
  const head = h("div", { class: "kv-row kv-outline-head", "aria-hidden": "true" });
  const toggled = new Map();
  const kept = new Map();
  let rows = [];
  let placeOf = new Map();
  let scene = null;
  let focused = 0;
  let extent = 1;
  let laidOut = -1;
  let tall = 0;
  let scrolled = 0;

  const folds = () => {
    const first = foldedAtFirst(scene);
    return (node, depth) => toggled.get(node) ?? first(node, depth);
  };

  function layout(next) {
    scene = next;
    rows = outlineRows(scene, folds());
    placeOf = new Map(rows.map((row, place) => [row.node, place]));
    sheet.style.height = `${rows.length * ROW}px`;
  }

  function make(row, place, before) {
    const cells = {
      fold: h("button", { class: "kv-fold", tabindex: "-1", "aria-hidden": "true" }),
      name: h("span", { class: "kv-name" }),
      bar: h("span", { class: "kv-bar" }),
      hits: h("span", { class: "kv-hits" }),
      tokens: h("span", { class: "kv-number" }),
      counted: h("span", { class: "kv-number" }),
      chips: h("span", { class: "kv-chips" }),
      request: h("span", { class: "kv-number" }),
      used: h("span", { class: "kv-number" }),
    };
    const element = h("div", { class: "kv-row kv-node", role: "treeitem", id: `${app.id}-node-${row.node}`, "data-node": row.node },
      h("span", { class: "kv-label" }, cells.fold, cells.name),
      h("span", { class: "kv-track" }, cells.bar, cells.hits),
      cells.tokens, cells.counted, cells.chips, cells.request, cells.used);
    const came = before ?? { place, start: scene.node(row.node).start, end: scene.node(row.node).start };
    element.style.transform = `translateY(${came.place * ROW}px)`;
    setBar(cells.bar, came.start, came.end);
    return { element, cells };
  }

  function setBar(bar, start, end) {
    bar.style.left = `${(100 * start) / extent}%`;
    bar.style.width = `${(100 * Math.max(0, end - start)) / extent}%`;
  }

  // Where a row that was not there comes from: the node that it was cut off, or its parent.
  function origin(node) {
    const child = scene.firstChild[node];
    const old = (child >= 0 && kept.get(child)) || kept.get(scene.node(node).parent);
    return old?.at ?? null;
  }

  function fillRow(entry, row, place) {
    const { node, start, end, user, request } = scene.node(row.node);
    const { cells, element } = entry;
    const hasChildren = scene.firstChild[node] >= 0;
    const states = scene.states(node);
    const why = scene.protectedBy(node);
    const used = store.rank(node, scene.seq)?.usedAt ?? null;
    setText(cells.fold, hasChildren ? (row.hidden ? "▸" : "▾") : "");
    element.firstChild.style.paddingLeft = `${indent(row.depth)}px`;
    setText(cells.name, (node === 0 ? "root" : `#${node}`) + (user ? " ★" : "") + (node === scene.frontier ? " ◂" : "") + (row.hidden ? ` (${scene.children[node]})` : ""));
    setText(cells.tokens, String(end - start));
    setText(cells.counted, node === 0 ? "" : bytesWords(scene.counted[node]));
    setText(cells.request, node === 0 || request < 1 ? "" : `r${request}`);
    setText(cells.used, used === null ? "" : used < 0 ? "before" : `@${used}`);
    if (entry.states !== states.join()) {
      entry.states = states.join();
      cells.chips.replaceChildren(...(node === 0 ? [] : states.map((state, group) => h("i", { class: `kv-chip kv-${state}`, title: `${groupName(store, group)}: ${state}` }, LETTER[state]))));
    }
    const hits = app.hits.get(node) ?? [];
    if (entry.hits !== hits.join()) {
      entry.hits = hits.join();
      cells.hits.replaceChildren(...hits.map(([from, to]) => {
        const mark = h("i", { class: "kv-hit", title: `found at tokens ${from} to ${to}` });
        setBar(mark, from, to);
        return mark;
      }));
    }
    const rank = app.state.order ? scene.candidates().indexOf(node) : -1;
    element.className = `kv-row kv-node kv-${scene.state(node)}${scene.active.has(node) ? " kv-active" : ""}${node === scene.frontier ? " kv-frontier" : ""}` +
      `${why ? " kv-protected" : ""}${node === app.state.selected ? " kv-selected" : ""}${node === focused ? " kv-focused" : ""}${app.found?.has(node) ? " kv-found" : ""}`;
    cells.name.dataset.rank = rank < 0 ? "" : String(rank + 1);
    element.setAttribute("aria-level", String(row.depth + 1));
    element.setAttribute("aria-selected", String(node === app.state.selected));
    if (hasChildren) element.setAttribute("aria-expanded", String(!row.hidden));
    else element.removeAttribute("aria-expanded");
    element.setAttribute("aria-label", `${node === 0 ? "root" : `node ${node}`}, tokens ${start} to ${end}, ${bytesWords(scene.counted[node])} counted${states.map((state, group) => `, ${groupName(store, group)} ${state}`).join("")}` +
      `${scene.active.has(node) ? ", active path" : ""}${node === scene.frontier ? ", frontier" : ""}${why ? `, protected: ${why}` : ""}${user ? ", explicit restore point" : ""}${hits.length ? `, found at tokens ${hits.map(([from, to]) => `${from} to ${to}`).join(", ")}` : ""}`);
    entry.at = { place, start, end };
    element.style.transform = `translateY(${place * ROW}px)`;
    setBar(cells.bar, start, end);
  }

  function draw(animate) {
    body.classList.toggle("kv-still", !animate);
    const first = Math.max(0, Math.floor(Math.min(scrolled, rows.length * ROW) / ROW) - 4);
    const last = Math.min(rows.length, Math.ceil((scrolled + tall) / ROW) + 4);
    const wanted = new Set();
    for (let place = first; place < last; place += 1) wanted.add(rows[place].node);
    const fresh = [];
    for (let place = first; place < last; place += 1) {
      const row = rows[place];
      if (!kept.has(row.node)) {
        kept.set(row.node, make(row, place, animate ? origin(row.node) : null));
        fresh.push(kept.get(row.node).element);
      }
    }
    sheet.append(...fresh);
    // what has just come must have been laid out where it comes from, or it would not slide
    if (animate && fresh.length) void sheet.offsetHeight;
    for (const [node, entry] of kept) if (!wanted.has(node)) leave(node, entry, animate);
    for (let place = first; place < last; place += 1) fillRow(kept.get(rows[place].node), rows[place], place);
    body.setAttribute("aria-activedescendant", `${app.id}-node-${focused}`);
  }

  function leave(node, entry, animate) {
    kept.delete(node);
    const gone = !scene.exists(node);
    if (!animate || !gone) {
      entry.element.remove();
      return;
    }
    // merged into the node that now begins where it began, if there is one in sight
    const heir = [...kept.values()].find((one) => one.at && placeOf.has(Number(one.element.dataset.node)) && scene.node(Number(one.element.dataset.node)).start === entry.at.start && one.at.start >= entry.at.end);
    entry.element.classList.add("kv-leaving");
    entry.element.removeAttribute("id");
    if (heir) entry.element.style.transform = `translateY(${placeOf.get(Number(heir.element.dataset.node)) * ROW}px)`;
    setTimeout(() => entry.element.remove(), TWEEN_MS);
  }

  // Heads, widths and height follow from what there is at any moment: nothing jumps when time moves.
  function columns() {
    const edge = h("span", { class: "kv-axis", title: `edges on the axis of tokens, from 0 to ${extent}` }, h("span", {}, "0"), h("span", {}, many(extent, "token")));
    const chips = h("span", { class: "kv-chips", title: groupsWords(store) }, ...store.about.groups.map((_, group) => h("i", { class: "kv-chip-head" }, groupLetter(store, group))));
    const titles = ["node", edge, "tokens", "counted", chips, "from", "used"];
    head.replaceChildren(...titles.map((title, place) => (typeof title === "string" ? h("span", { class: place > 1 ? "kv-number" : "", title }, title) : title)));
    const sizes = outlineSizes(store);
    for (const [name, wide] of Object.entries(sizes.columns)) body.parentElement?.style.setProperty(`--kv-${name}`, `${wide}px`);
    tall = sizes.rows * ROW;
    body.style.height = `${tall}px`;
  }

  function scrollTo(node) {
    const place = placeOf.get(node);
    if (place === undefined) return;
    const top = place * ROW;
    if (top < scrolled) scrolled = top;
    else if (top + ROW > scrolled + tall) scrolled = top + ROW - tall;
    else return;
    body.scrollTop = scrolled;
  }

  function focus(node) {
    focused = node;
    scrollTo(node);
    draw(false);
  }

  function reveal(node) {
    if (!scene?.exists(node)) return;
    for (const above of scene.pathTo(node).slice(0, -1)) toggled.set(above, false);
    layout(scene);
    focus(node);
  }

  function fold(node, hide) {
    toggled.set(node, hide);
    layout(scene);
    draw(true);
  }

  body.addEventListener("scroll", () => requestAnimationFrame(() => {
    if (body.scrollTop === scrolled || !scene) return;
    scrolled = body.scrollTop;
    draw(false);
  }), { passive: true });
  body.addEventListener("focus", () => scene && draw(false));
  body.addEventListener("click", (event) => {
    const row = event.target.closest(".kv-node");
    if (!row) return;
    const node = Number(row.dataset.node);
    if (event.target.closest(".kv-fold") && scene.firstChild[node] >= 0) fold(node, !rows[placeOf.get(node)].hidden);
    else {
      focused = node;
      app.select(node);
    }
  });
  body.addEventListener("mouseover", (event) => app.hover(Number(event.target.closest(".kv-node")?.dataset.node ?? -1)));
  body.addEventListener("mouseleave", () => app.hover(-1));
  body.addEventListener("keydown", (event) => {
    const place = placeOf.get(focused) ?? 0;
    const row = rows[place];
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(tall / ROW) - 1);
    const parent = scene.node(row.node).parent;
    const goTo = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1, PageDown: place + page, PageUp: place - page }[event.key];
    if (goTo !== undefined) focus(rows[Math.max(0, Math.min(rows.length - 1, goTo))].node);
    else if (event.key === "ArrowRight") {
      if (row.hidden) fold(row.node, false);
      else if (scene.firstChild[row.node] >= 0) focus(scene.firstChild[row.node]);
    } else if (event.key === "ArrowLeft") {
      if (scene.firstChild[row.node] >= 0 && !row.hidden) fold(row.node, true);
      else if (placeOf.has(parent)) focus(parent);
    } else if (event.key === "Enter") app.select(row.node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    element: h("div", { class: "kv-outline-box" }, head, body),
    focus: () => body.focus(),
    measure() {
      tall = body.clientHeight;
      body.scrollTop = scrolled;
    },
    reveal,
    show(next, animate, follow) {
      const furthest = app.extent();
      if (laidOut !== store.version) {
        extent = furthest;
        laidOut = store.version;
        columns();
      }
      layout(next);
      if (!placeOf.has(focused)) focused = rows[0]?.node ?? 0;
      if (follow) scrollTo(scene.exists(follow.node) ? follow.node : scene.frontier);
      draw(animate);
    },
  };
}
