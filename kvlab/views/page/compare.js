// Two recordings on one axis of requests: differences by owner, what was restored, the tries side by side with common nodes in one row.

const COMPARED = ["counted", "snapshots", "live", "unattributed", "pool", "active"];

function comparedRows(data, place) {
  return data.rows.filter((row) => row.born <= place && (row.died === -1 || place < row.died)).sort((a, b) => a.place - b.place);
}

function mountCompare(root, data, host = {}) {
  root.classList.add("kvlab");
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  const count = data.requests.length;
  const state = { place: Math.max(0, count - 1), chosen: 0 };
  const slider = h("input", { type: "range", class: "kv-slider", min: "0", max: String(Math.max(0, count - 1)), value: String(state.place), "aria-label": "Request" });
  const words = h("p", { class: "kv-sentence", "aria-live": "polite" });
  const plot = s("svg", { class: "kv-bytes", height: 150, role: "img" });
  const table = h("div", { class: "kv-compared", role: "listbox", tabindex: "0", "aria-label": "Nodes of both tries. Up and down choose one." });
  const legend = h("p", { class: "kv-note kv-legend" });
  const reach = Math.max(1, ...data.rows.flatMap((row) => [row.a?.end ?? 0, row.b?.end ?? 0]));
  const owners = COMPARED.filter((name) => data.differences[name].some((value) => value));

  root.replaceChildren(h("div", { class: "kv-title" }, "A and B, side by side"),
    h("p", { class: "kv-note" }, `A: ${data.a}`), h("p", { class: "kv-note" }, `B: ${data.b}`), ...data.policy.map((line) => h("p", { class: "kv-note" }, line)),
    h("div", { class: "kv-controls" }, h("div", { class: "kv-time" }, step("◂", "Request before", -1, ","), slider, step("▸", "Next request", 1, ".")), words),
    h("section", { class: "kv-panel kv-wide", "aria-label": "Bytes that B holds more than A" }, h("h4", {}, "Bytes that B holds more than A, at each request's end"), legend, plot),
    h("section", { class: "kv-panel kv-wide", "aria-label": "Tries" }, h("h4", {}, "Tries side by side: a common node is one row"), table));

  function step(label, name, by, key) {
    return h("button", { class: "kv-button", "aria-label": name, title: `${name}. Key: ${key}`, onclick: () => go(state.place + by) }, label);
  }

  function go(place) {
    state.place = Math.max(0, Math.min(count - 1, place));
    show();
    host.moved?.(data.requests[state.place]?.request ?? 0);
  }

  function signed(value) {
    return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${bytesWords(Math.abs(value))}`;
  }

  function drawPlot() {
    const width = Math.max(300, plot.clientWidth || 600);
    plot.setAttribute("viewBox", `0 0 ${width} 150`);
    const values = owners.flatMap((name) => data.differences[name].map((value) => value ?? 0));
    const most = Math.max(1, ...values.map(Math.abs));
    const ticks = [[most, 12], [0, 70], [-most, 128]].map(([value, at]) => ({ at, words: value ? signed(value) : "0" }));
    const left = 12 + Math.max(...ticks.map((tick) => labelWidth(tick.words)));
    const x = (place) => left + ((width - left - 12) * place) / Math.max(1, count - 1);
    const y = (value) => 66 - (58 * value) / most;
    const parts = [s("line", { x1: left, x2: width - 8, y1: 66, y2: 66, class: "kv-rule" })];
    for (const tick of ticks) parts.push(s("text", { x: left - 6, y: tick.at, "text-anchor": "end", class: "kv-small" }, tick.words));
    owners.forEach((name, number) => {
      const points = data.differences[name].map((value, place) => [x(place), y(value ?? 0)]);
      parts.push(s("path", { d: `M${points.map((point) => point.join(",")).join(" L")}`, class: `kv-line kv-owner-${name}`, "stroke-dasharray": ["none", "6 2", "2 2", "8 2 2 2", "4 4", "1 3"][number % 6] }, s("title", {}, name)));
    });
    data.requests.forEach((row, place) => {
      if (count <= 30 || place % Math.ceil(count / 30) === 0) parts.push(s("text", { x: x(place), y: 146, "text-anchor": place + 1 === count && count > 1 ? "end" : "middle", class: "kv-small" }, `r${row.request}`));
    });
    parts.push(s("line", { x1: x(state.place), x2: x(state.place), y1: 0, y2: 132, class: "kv-cursor" }));
    plot.replaceChildren(...parts);
    plot.setAttribute("aria-label", owners.length ? `Differences over ${many(count, "request")}: ${owners.map((name) => `${name} at most ${bytesWords(Math.max(...data.differences[name].map((value) => Math.abs(value ?? 0))))}`).join(", ")}` : "No owner differs.");
    legend.replaceChildren(...(owners.length ? owners.map((name) => h("span", {}, h("i", { class: `kv-swatch kv-band-${name}` }), name)) : ["no owner differs at any request's end"]));
  }

  function bar(node) {
    const track = h("span", { class: "kv-track" });
    if (!node) return track;
    const drawn = h("span", { class: "kv-bar" });
    drawn.style.left = `${(100 * node.start) / reach}%`;
    drawn.style.width = `${(100 * (node.end - node.start)) / reach}%`;
    track.append(drawn);
    return h("span", { class: `kv-${node.state} kv-side` }, track);
  }

  function show() {
    const rows = comparedRows(data, state.place);
    const request = data.requests[state.place];
    slider.value = String(state.place);
    slider.setAttribute("aria-valuetext", request ? `request ${request.request}` : "no request");
    words.textContent = request ? `After request ${request.request} ${request.label}: A restored ${request.a ?? "nothing of its"} and B ${request.b ?? "nothing of its"} of ${request.tokens} tokens; ` +
      `${owners.map((name) => `${name} ${signed(data.differences[name][state.place] ?? 0)}`).join(", ") || "no bytes differ"}; nodes: ${["both", "only A", "only B"].map((side) => `${rows.filter((row) => row.side === side).length} ${side}`).join(", ")}.` : "No request that both have.";
    state.chosen = Math.max(0, Math.min(rows.length - 1, state.chosen));
    table.replaceChildren(...rows.map((row, place) => {
      const difference = row.side === "both" ? (row.a.counted === row.b.counted && row.a.state === row.b.state ? "=" : `≠ ${signed(row.b.counted - row.a.counted)}`) : row.side;
      const element = h("div", { class: `kv-pair${row.side === "both" ? "" : " kv-alone"}${place === state.chosen ? " kv-selected" : ""}`, role: "option", id: `kvc-${place}`, "data-side": row.side, "aria-selected": String(place === state.chosen),
        "aria-label": `${row.side}: ${[["A", row.a], ["B", row.b]].filter(([, node]) => node).map(([side, node]) => `${side} node ${node.node}, tokens ${node.start} to ${node.end}, ${node.state}, ${bytesWords(node.counted)}`).join("; ")}` },
        h("span", { class: "kv-name" }, row.a ? `${"· ".repeat(Math.min(row.depth, 12))}#${row.a.node}` : ""), bar(row.a), h("span", { class: "kv-number" }, row.a ? bytesWords(row.a.counted) : ""),
        h("span", { class: "kv-difference" }, difference), h("span", { class: "kv-name" }, row.b ? `${"· ".repeat(Math.min(row.depth, 12))}#${row.b.node}` : ""), bar(row.b), h("span", { class: "kv-number" }, row.b ? bytesWords(row.b.counted) : ""));
      element.addEventListener("click", () => { state.chosen = place; show(); });
      return element;
    }));
    table.setAttribute("aria-activedescendant", `kvc-${state.chosen}`);
    table.children[state.chosen]?.scrollIntoView({ block: "nearest" });
    drawPlot();
    root.dataset.request = String(request?.request ?? 0);
  }

  slider.addEventListener("input", () => go(Number(slider.value)));
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inTable = event.target === table;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const by = { ".": 1, ",": -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (inTable && move) {
      state.chosen += move;
      show();
    } else if (by) go(state.place + by);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(count - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const sized = new ResizeObserver(drawPlot);
  sized.observe(root);
  show();
  return { go: (request) => go(data.requests.findIndex((row) => row.request === request)), close: () => sized.disconnect() };
}
