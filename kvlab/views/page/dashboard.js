// The dashboard: one moment, shown by all views at once. `host` is what is behind the page: Python, or nothing (a report).

let mounted = 0;

function mountDashboard(root, store, host = {}) {
  mounted += 1;
  const app = {
    id: `kv${mounted}`,
    store,
    state: { place: 0, selected: -1, band: null, window: null, order: false, overview: false, playing: false, pool: null },
    found: null,
    hits: new Map(),
    extent: () => furthest(),
    colour: (name) => getComputedStyle(root).getPropertyValue(`--kv-${name}`).trim() || "#808080",
    textsAt: (request, seq) => textsOf(store, request, seq),
    select, selectBand, chooseBand, go, hover, setWindow, goToRequest,
    redraw: () => schedule(),
  };
  root.classList.add("kvlab");
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  let waiting = false;
  let ended = !host.live;
  let timer = 0;
  let frame = 0;
  let last = -1;
  let moved = null;
  let reach = { version: -1, value: 1 };

  const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function furthest() {
    if (reach.version !== store.version) {
      const ends = [...(store.tables.nodes.end ?? []), ...store.requests.map((row) => Math.max(0, row.tokens))];
      let most = 1;
      for (const end of ends) if (end > most) most = end;
      reach = { version: store.version, value: most };
    }
    return reach.value;
  }

  const views = { outline: outlineView(app), overview: overviewView(app), spans: spansView(app), bytes: bytesView(app), requests: requestsView(app) };
  const controls = controlsView(app, { next, back, toStart, toEnd, toggle, jump });
  const details = h("p", { class: "kv-note kv-details", "aria-live": "polite" });
  const tip = h("p", { class: "kv-note kv-tip" });
  const finder = finderView(app, { reveal: (node) => { if (!app.state.overview) views.outline.reveal(node); }, leave: () => shownTrie().focus() });
  const mode = h("button", { class: "kv-mode", "aria-pressed": "false", title: "Key: o" }, "Overview");
  const order = h("button", { class: "kv-mode", "aria-pressed": "false", title: "Number the nodes in the order in which eviction would take them. Key: e" }, "Eviction order");
  const trie = h("div", { class: "kv-trie" }, views.outline.element);
  root.replaceChildren(
    h("div", { class: "kv-title" }, store.about.title ?? ""),
    controls.element,
    panel("Bytes by owner", views.bytes.element, "kv-wide"),
    panel("Trie", h("div", {}, h("div", { class: "kv-tools" }, finder.element, mode, order), finder.words, trie, tip), "kv-half kv-tries"),
    panel("Snapshots by layer", h("div", {}, views.spans.element, details), "kv-half"),
    panel("Requests", views.requests.element, "kv-wide"),
    legend(),
  );

  function panel(title, content, size) {
    return h("section", { class: `kv-panel ${size}`, "aria-label": title }, h("h4", {}, title), content);
  }

  const shownTrie = () => (app.state.overview ? views.overview : views.outline);

  function show(animate) {
    const scene = store.scene(app.state.place);
    controls.show(scene, { ended, waiting, live: host.live === true });
    if (app.state.overview) views.overview.show(scene);
    // a step is followed to where it happens; a drag is not, or rows would run away under the eye
    else views.outline.show(scene, animate, app.state.follow ? { node: store.tables.events.node?.[app.state.place] ?? -1 } : null);
    // until there is room to scroll in, the place to follow is kept
    if (root.clientHeight) app.state.follow = false;
    views.spans.show(scene);
    views.bytes.show(scene);
    views.requests.show(scene);
    details.textContent = detailWords(store, scene, app.state.selected);
    last = app.state.place;
    root.dataset.seq = String(scene.seq);
    root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
  }

  function schedule() {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const near = last >= 0 && Math.abs(app.state.place - last) <= 400 && !still() && app.state.animate;
      show(near);
    });
  }

  // `animate`: a step, and not a drag of the slider, in which every move would begin a new tween
  function go(place, animate = false) {
    const to = Math.max(0, Math.min(place, store.count - 1));
    app.state.animate = animate;
    app.state.follow ||= animate;
    app.state.place = to;
    schedule();
    clearTimeout(moved);
    moved = setTimeout(() => host.moved?.(store.seqAt(app.state.place)), 150);
  }

  function select(node) {
    app.state.selected = store.scene(app.state.place).exists(node) || node < 0 ? node : app.state.selected;
    if (!app.state.overview) views.outline.reveal(app.state.selected);
    app.state.band = null;
    host.selected?.(app.state.selected, null);
    app.state.animate = false;
    schedule();
  }

  // A band of bytes is chosen, and with it a node that holds its bytes, if any does.
  function selectBand(owner, which = {}) {
    const held = bandHolds(store.scene(app.state.place), owner, which);
    app.state.selected = held.node;
    if (!app.state.overview) views.outline.reveal(held.node);
    app.state.band = { owner, node: held.node };
    host.selected?.(held.node, held);
    app.state.animate = false;
    schedule();
  }

  function chooseBand(owner) {
    app.state.band = { owner };
    schedule();
  }

  function setWindow(window) {
    app.state.window = window;
    schedule();
  }

  function goToRequest(request) {
    const row = store.requests[store.rowOfRequest.get(request)];
    if (row) go(store.placeOf(row.began), true);
  }

  function hover(node) {
    const scene = store.scene(app.state.place);
    tip.textContent = scene.exists(node) ? nodeWords(store, scene, node) : groupsWords(store);
  }

  // Forward: in what is there, and at its end by requesting more of the host.
  function next(what = "event") {
    const place = NEXT[what](store, app.state.place);
    if (place >= 0 && place < store.count) {
      go(place, true);
      return true;
    }
    if (ended || waiting) {
      if (!host.live && what !== "event") go(store.count - 1, true);
      return false;
    }
    waiting = true;
    schedule();
    host.pull(what);
    return true;
  }

  function back() {
    go(app.state.place - 1, true);
  }

  function toStart() {
    go(0);
  }

  function toEnd() {
    go(store.count - 1);
  }

  function jump(name) {
    const place = JUMPS[name](store, app.state.selected);
    if (place >= 0) go(place, true);
    else controls.say(jumpNone(store, name, app.state.selected));
  }

  function toggle() {
    app.state.playing = !app.state.playing;
    clearInterval(timer);
    if (app.state.playing) {
      if (app.state.place >= store.count - 1 && ended) go(0);
      timer = setInterval(() => { if (!waiting && !next("event")) stop(); }, still() ? 500 : controls.pace());
    }
    schedule();
  }

  function stop() {
    app.state.playing = false;
    clearInterval(timer);
    schedule();
  }

  function toggleMode() {
    app.state.overview = !app.state.overview;
    mode.setAttribute("aria-pressed", String(app.state.overview));
    trie.replaceChildren(shownTrie().element);
    measure();
    show(false);
    shownTrie().focus();
  }

  function toggleOrder() {
    app.state.order = !app.state.order;
    order.setAttribute("aria-pressed", String(app.state.order));
    root.classList.toggle("kv-ranked", app.state.order);
    schedule();
  }

  function brush(edge) {
    const seq = store.seqAt(app.state.place);
    const window = app.state.window ?? [0, store.seqAt(store.count - 1)];
    if (edge === "[") setWindow([seq, Math.max(seq, window[1])]);
    else setWindow([Math.min(seq, window[0]), seq]);
  }

  mode.addEventListener("click", toggleMode);
  order.addEventListener("click", toggleOrder);
  const keys = {
    ".": () => next("event"), ",": back, p: () => next("phase"), r: () => next("request"), " ": toggle, o: toggleMode, e: toggleOrder,
    "/": () => finder.focus(), t: () => shownTrie().focus(), y: () => views.bytes.focus(), b: () => controls.focus(),
    q: () => views.requests.focus(), s: () => views.requests.focusStrip(), f: () => views.bytes.togglePool(),
    "[": () => brush("["), "]": () => brush("]"), Escape: () => setWindow(null), Home: toStart, End: toEnd,
  };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // a button takes the space bar, a list its letters
    if (event.target.closest("select") || (event.key === " " && event.target.closest("button"))) return;
    const act = keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });

  store.listeners.add(arrived);
  function arrived() {
    furthest();
    schedule();
  }

  // sizes are read here and kept: to read one while drawing would lay the page out once a view
  const measure = () => { for (const view of Object.values(views)) view.measure?.(); };
  const sized = new ResizeObserver(() => {
    measure();
    schedule();
  });
  sized.observe(root);
  const themed = new MutationObserver(() => schedule());
  themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"] });
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", schedule);

  app.state.place = host.opensAt === "end" ? Math.max(0, store.count - 1) : 0;
  app.state.follow = true;
  measure();
  show(false);
  hover(-1);
  return {
    app,
    views,
    scene: () => store.scene(app.state.place),
    go: (seq) => go(store.placeOf(seq), true),
    choose: (node) => { app.state.selected = node; schedule(); },
    // what the host answers to `pull`
    pulled(answer) {
      waiting = false;
      ended = answer.ended === true;
      if (answer.error) controls.say(answer.error);
      else go(store.count - 1, true);
      schedule();
    },
    close() {
      clearInterval(timer);
      clearTimeout(moved);
      cancelAnimationFrame(frame);
      store.listeners.delete(arrived);
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", schedule);
    },
  };
}
