// Requests as a waterfall of phases, and the prompt of the one under way as a strip of tokens.

const PHASE_ENDS = ["begin", "prefill", "attach", "decode", "close"];

// What stands where: for each request its phases as [name, from, to] in seconds, and how its prompt divides.
function requestRows(store, seq) {
  return store.requests.filter((row) => row.request > 0 && row.began <= seq).map((row) => requestRow(store, row, seq));
}

function requestRow(store, row, seq) {
  const over = row.closed !== -1 && row.closed <= seq;
  const matched = row.matched_at !== -1 && row.matched_at <= seq;
  const phases = [];
  let from = row.times.began;
  for (const name of PHASE_ENDS) {
    const to = row.times[name];
    if (from === undefined || to === undefined) continue;
    if (to > from) phases.push([name, from, to]);
    from = to;
  }
  const known = matched ? { matched: row.matched, cached: row.cached, left: row.left, reason: row.reason, layer: row.layer } : { matched: 0, cached: 0, left: row.tokens, reason: "", layer: "" };
  return { request: row.request, label: row.label, tokens: Math.max(0, row.tokens), over, phases, generated: over ? row.generated : Math.max(0, repliedAt(store, row, seq)), stop: over ? row.stop : "", ttft: over ? row.ttft_s : -1, decode: over ? row.decode_s : -1, ...known };
}

function repliedAt(store, row, seq) {
  return store.marks("token_out", seq, row.request).at(-1)?.end ?? 0;
}

// Runs of tokens of one sort: restored, matched but evaluated again, new, still to come, generated.
function tokenRuns(scene, request) {
  const told = scene.store.requests[scene.store.rowOfRequest.get(request)];
  if (!told) return [];
  const row = requestRow(scene.store, told, scene.seq);
  const chunks = scene.store.marks("chunk_ran", scene.seq, request);
  const evaluated = Math.max(row.cached, ...chunks.map((mark) => mark.end), row.generated ? row.tokens : 0);
  const cut = [[0, Math.min(row.cached, row.tokens), "restored"], [row.cached, Math.min(row.matched, evaluated), "recomputed"], [Math.max(row.matched, row.cached), evaluated, "new"], [evaluated, row.tokens, "waiting"], [row.tokens, row.tokens + row.generated, "generated"]];
  return cut.filter(([from, to]) => to > from).map(([start, end, sort]) => ({ start, end, sort }));
}

const BEFORE = 8;

const SORTS = { restored: "restored", recomputed: "recomputed", new: "evaluated", waiting: "to come", generated: "generated" };

function requestsView(app) {
  const store = app.store;
  const list = h("div", { class: "kv-requests", role: "listbox", tabindex: "0", "aria-label": "Requests. Up and down choose one, Enter goes to its beginning." });
  const strip = h("div", { class: "kv-strip", role: "img" });
  const stripWords = h("p", { class: "kv-note" });
  let at = -1;
  let scaled = { version: -1, longest: 1, widest: 1 };

  // The axes are those of all requests: nothing jumps when time moves.
  function scales() {
    if (scaled.version !== store.version) {
      scaled = { version: store.version, longest: 1e-9, widest: 1 };
      for (const row of store.requests) {
        const seconds = Object.values(row.times);
        if (seconds.length) scaled.longest = Math.max(scaled.longest, Math.max(...seconds) - row.times.began);
        scaled.widest = Math.max(scaled.widest, row.tokens);
      }
    }
    return scaled;
  }

  function reasonWords(row) {
    return row.reason ? row.reason.replaceAll("_", " ") + (row.layer ? ` (${row.layer})` : "") : "not matched yet";
  }

  function line(row, longest, widest) {
    const track = h("span", { class: "kv-track" });
    const start = row.phases[0]?.[1] ?? 0;
    for (const [name, from, to] of row.phases) {
      const bar = h("i", { class: `kv-phase kv-phase-${name}`, title: `${name}: ${((to - from) * 1000).toFixed(1)} ms` });
      bar.style.left = `${(100 * (from - start)) / longest}%`;
      bar.style.width = `${Math.max(0.3, (100 * (to - from)) / longest)}%`;
      track.append(bar);
    }
    const parts = h("span", { class: "kv-parts", title: `cached ${row.cached}, matched ${row.matched}, left ${row.left} of ${row.tokens} tokens` });
    for (const [name, tokens] of [["restored", row.cached], ["recomputed", Math.max(0, row.matched - row.cached)], ["new", Math.max(0, row.tokens - Math.max(row.matched, row.cached))]]) {
      if (!tokens) continue;
      const part = h("i", { class: `kv-sort kv-sort-${name}` });
      part.style.width = `${(100 * tokens) / widest}%`;
      parts.append(part);
    }
    const speed = row.decode > 0 && row.generated > 1 ? `${((row.generated - 1) / row.decode).toFixed(0)} tok/s` : "";
    return h("div", { class: `kv-request${row.request === at ? " kv-selected" : ""}`, role: "option", id: `${app.id}-request-${row.request}`, "data-request": row.request, "aria-selected": String(row.request === at) },
      h("span", { class: "kv-name", title: row.label }, `r${row.request} ${row.label}`), track, parts,
      h("span", { class: "kv-number" }, `${row.cached}/${row.matched}/${row.tokens}`),
      h("span", { class: "kv-number" }, row.ttft >= 0 ? `${(row.ttft * 1000).toFixed(row.ttft < 0.01 ? 2 : 0)} ms` : row.over ? "" : "…"),
      h("span", { class: "kv-number" }, speed),
      h("span", { class: "kv-why", title: reasonWords(row) }, reasonWords(row)));
  }

  function show(scene) {
    at = scene.request;
    const { longest, widest } = scales();
    // the one under way and those before it, as many as fit: to scroll would lay the whole page out at every moment
    const place = store.rowOfRequest.get(at) ?? store.requests.findLastIndex((row) => row.began <= scene.seq);
    const shown = store.requests.slice(Math.max(0, place - BEFORE), place + 1).filter((row) => row.request > 0 && row.began <= scene.seq)
      .map((row) => requestRow(store, row, scene.seq));
    list.replaceChildren(h("div", { class: "kv-request kv-requests-head", "aria-hidden": "true" }, ...["request", "phases", "prompt", "cached/matched/tokens", "TTFT", "decode", "why"].map((title, place) => h("span", { class: place > 2 && place < 6 ? "kv-number" : "" }, title))),
      ...shown.map((row) => line(row, longest, widest)));
    if (at > 0) list.setAttribute("aria-activedescendant", `${app.id}-request-${at}`);
    showStrip(scene);
  }

  function showStrip(scene) {
    const runs = tokenRuns(scene, at);
    const total = Math.max(1, runs.at(-1)?.end ?? 1);
    const path = scene.path.map((node) => scene.node(node));
    const pieces = [];
    for (const run of runs) {
      // cut where nodes begin, so that each piece belongs to one node
      const cuts = [run.start, ...path.map((node) => node.start).filter((cut) => cut > run.start && cut < run.end), run.end];
      for (let place = 0; place + 1 < cuts.length; place += 1) {
        const owner = path.find((node) => node.start <= cuts[place] && cuts[place] < node.end)?.node ?? -1;
        pieces.push({ ...run, start: cuts[place], end: cuts[place + 1], node: owner });
      }
    }
    strip.replaceChildren(...pieces.map((piece) => {
      const tokens = piece.end - piece.start;
      const element = h("button", { class: `kv-piece kv-sort-${piece.sort}`, tabindex: "-1", "data-node": piece.node, title: `tokens ${piece.start} to ${piece.end}: ${SORTS[piece.sort]}${piece.node > 0 ? `, node #${piece.node}` : ""}` }, tokens / total > 0.06 ? `${tokens}` : "");
      element.style.flexGrow = String(tokens);
      if (total <= 240) element.style.setProperty("--kv-cells", String(tokens));
      return element;
    }));
    const words = runs.map((run) => `${run.end - run.start} ${SORTS[run.sort]}`).join(", ");
    stripWords.textContent = at > 0 ? `Tokens of request ${at}: ${words || "none yet"}` : "No request is under way.";
    strip.setAttribute("aria-label", stripWords.textContent);
    const said = app.textsAt?.(at, scene.seq);
    if (said) stripWords.textContent += ` · ${said}`;
  }

  strip.addEventListener("click", (event) => {
    const node = Number(event.target.closest(".kv-piece")?.dataset.node ?? -1);
    if (node > 0) app.select(node);
  });
  list.addEventListener("click", (event) => {
    const request = Number(event.target.closest("[data-request]")?.dataset.request ?? -1);
    if (request > 0) app.goToRequest(request);
  });
  list.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      const numbers = store.requests.map((row) => row.request).filter((request) => request > 0);
      const place = numbers.indexOf(at);
      app.goToRequest(numbers[Math.max(0, Math.min(numbers.length - 1, place + move))]);
    } else if (event.key === "Enter") app.goToRequest(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { element: h("div", {}, list, strip, stripWords), show };
}
