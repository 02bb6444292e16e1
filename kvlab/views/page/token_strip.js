// The prompt of the request under way as a strip of tokens, each run linked to the node that holds it.

// The pieces of a prompt: runs of one sort, cut where nodes begin, so that each piece belongs to one node.
// Before it is matched nothing of the prompt belongs to the path that is still active.
function stripPieces(scene, facts) {
  const path = facts && facts.matched !== null ? scene.path.map((node) => scene.node(node)) : [];
  return (facts?.runs ?? []).flatMap((run) => {
    const cuts = [run.start, ...path.map((node) => node.start).filter((cut) => cut > run.start && cut < run.end), run.end];
    return cuts.slice(0, -1).map((start, place) => ({ sort: run.sort, start, end: cuts[place + 1], node: path.find((node) => node.start <= start && start < node.end)?.node ?? -1 }));
  });
}

const pieceWords = (piece) => `tokens ${piece.start} to ${piece.end}: ${SORTS[piece.sort]}${piece.node > 0 ? `, node #${piece.node}` : ""}`;

function stripView(app) {
  const store = app.store;
  const strip = h("div", { class: "kv-strip", role: "listbox", tabindex: "0", "aria-orientation": "horizontal" });
  const words = h("p", { class: "kv-note kv-strip-words" });
  let pieces = [];
  let chosen = 0;
  let of = -1;

  function show(scene, facts) {
    const request = facts?.request ?? -1;
    if (request !== of) chosen = 0;
    of = request;
    pieces = stripPieces(scene, facts);
    chosen = Math.max(0, Math.min(pieces.length - 1, chosen));
    const total = Math.max(1, pieces.at(-1)?.end ?? 1);
    strip.replaceChildren(...pieces.map((piece, place) => {
      const tokens = piece.end - piece.start;
      const element = h("span", { class: `kv-piece kv-sort-${piece.sort}`, role: "option", id: `${app.id}-piece-${place}`, "data-node": piece.node, title: pieceWords(piece), "aria-label": pieceWords(piece) },
        tokens / total > 0.04 ? h("b", { class: "kv-count" }, String(tokens)) : null);
      element.style.flexGrow = String(tokens);
      return element;
    }));
    mark();
    const summary = facts ? `Tokens of request ${request}: ${runWords(facts.runs)}${facts.cancelled ? `; ${cancelWords(facts)}` : ""}` : "No request is under way.";
    const text = app.textsAt(request, scene.seq);
    words.textContent = text ? `${summary} · ${text}` : summary;
    strip.setAttribute("aria-label", `${summary}. Left and right choose a run, Enter selects its node.`);
  }

  function mark() {
    [...strip.children].forEach((element, place) => {
      element.classList.toggle("kv-chosen-piece", place === chosen);
      element.setAttribute("aria-selected", String(place === chosen));
    });
    if (pieces.length) strip.setAttribute("aria-activedescendant", `${app.id}-piece-${chosen}`);
    else strip.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    chosen = Math.max(0, Math.min(pieces.length - 1, place));
    mark();
  }

  function open(place) {
    choose(place);
    if (pieces[chosen]?.node > 0) app.select(pieces[chosen].node);
  }

  strip.addEventListener("click", (event) => {
    const place = [...strip.children].indexOf(event.target.closest(".kv-piece"));
    if (place >= 0) open(place);
  });
  strip.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: pieces.length - 1 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (to !== undefined) choose(to);
    else if (event.key === "Enter") open(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { element: h("div", {}, strip, words), focus: () => strip.focus(), show };
}
