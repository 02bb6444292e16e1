// The search box of the trie: what is typed is found as one types; Enter chooses a hit, Enter again the next, Shift+Enter the one before.

function finderView(app, { reveal, leave }) {
  const store = app.store;
  const element = h("input", { class: "kv-search", type: "search", placeholder: "node, request, label or text…", "aria-label": "Search nodes by number, by request (r3), by label, or by text of tokens. Enter goes to the next one." });
  const words = h("p", { class: "kv-note kv-found-words", "aria-live": "polite" });
  let result = { nodes: [], hits: [], note: "" };
  let at = -1;

  const places = () => (result.hits.length ? result.hits : result.nodes.map((node) => ({ node, first: node })));

  function find() {
    const scene = store.scene(app.state.place);
    result = search(scene, element.value);
    at = -1;
    app.found = new Set(result.nodes);
    app.hits = hitMarks(scene, result.hits);
    element.setAttribute("aria-description", element.value ? `${places().length} found` : "");
    if (result.nodes.length) reveal(places()[0].first);
    say();
  }

  function say() {
    const found = places();
    const one = found[at];
    const where = one && result.hits.length ? `: tokens [${one.start}, ${one.end}) on ${one.first === one.node ? `#${one.node}` : `#${one.first} to #${one.node}`}` : one ? `: #${one.node}` : found.length ? `: ${result.nodes.slice(0, 8).map((node) => `#${node}`).join(", ")}` : "";
    words.textContent = element.value ? `${one ? `${at + 1} of ` : ""}${found.length} found${where}${result.note ? `. ${result.note}` : ""}` : "";
  }

  function choose(by) {
    const found = places();
    if (!found.length) return;
    at = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
    app.select(found[at].node);
    say();
  }

  element.addEventListener("input", () => {
    find();
    app.redraw();
  });
  element.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      element.value = "";
      find();
      app.redraw();
      leave();
    } else if (event.key === "Enter") choose(event.shiftKey ? -1 : 1);
  });

  return { element, words, focus: () => element.focus() };
}
