// Layers x token offsets along one path: what of each node's edge each layer group can restore, the live buffer, captures.

// What is drawn: a row a layer group and one for its live buffer, spans from left to right. The path is that of the selected node, else the active one.
function spanRows(scene, selected) {
  const chosen = scene.exists(selected) && selected !== 0;
  const path = chosen ? scene.pathTo(selected) : scene.path;
  const groups = scene.store.about.groups.map((group, number) => ({
    group: number,
    label: group.label,
    kind: group.kind,
    layers: group.layers,
    spans: path.filter((node) => node !== 0).map((node) => {
      const edge = scene.node(node);
      const held = scene.spans(node).find((span) => span.group === number);
      return held ? { ...held, node } : { node, start: edge.start, end: edge.end, state: "missing", counted: 0, retained: 0, request: edge.request, snapshot: -1 };
    }),
  }));
  const waiting = scene.loose.map((row) => {
    const { spans } = scene.store.tables;
    return { node: -1, group: spans.group[row], start: spans.start[row], end: spans.end[row], state: scene.store.about.states[spans.state[row]] ?? "missing", counted: spans.counted[row], retained: spans.retained[row], request: spans.request[row], snapshot: spans.snapshot[row] };
  });
  if (!chosen) for (const span of waiting) groups[span.group]?.spans.push(span);
  return { chosen, groups, live: liveBuffers(scene), captures: captures(scene), end: path.length ? scene.node(path.at(-1)).end : 0 };
}

function captures(scene) {
  const taken = scene.store.marks("captured", scene.seq, scene.request).map((mark) => mark.end);
  const scheduled = scene.store.marks("scheduled", scene.seq, scene.request).map((mark) => mark.end);
  const row = scene.store.requests[scene.store.rowOfRequest.get(scene.request)];
  // what a request that is over has not taken it never will
  const over = row !== undefined && row.closed !== -1 && row.closed <= scene.seq;
  return [...new Set([...scheduled, ...taken])].sort((a, b) => a - b).map((at) => ({ at, is: taken.includes(at) ? "taken" : over ? "not taken" : "scheduled" }));
}

const CAPTURE_SIGNS = { scheduled: "▽", taken: "▼", "not taken": "crossed-out ▽" };

function spansView(app) {
  const store = app.store;
  const svg = s("svg", { class: "kv-spans", role: "img" });
  const title = h("p", { class: "kv-note" });
  let width = 480;

  function show(scene) {
    const { chosen, groups, live, captures: marks, end } = spanRows(scene, app.state.selected);
    const extent = Math.max(app.extent(), Math.min(Math.max(0, ...live.map((row) => row.room)), app.extent() * 1.25), 1);
    const reading = store.reading(scene.seq);
    const x = (token) => EDGE + ((width - 2 * EDGE) * Math.min(token, extent)) / extent;
    const parts = [];
    const seen = ["scheduled", "taken", "not taken"].filter((is) => marks.some((mark) => mark.is === is)).map((is) => `${CAPTURE_SIGNS[is]} ${is}`);
    title.textContent = `${chosen ? `path to node #${app.state.selected}` : "active path"}, tokens 0 to ${end}; ${seen.length ? `captures ${seen.join(", ")}` : "no capture is scheduled"}`;
    for (const mark of marks) {
      const at = x(mark.at);
      parts.push(s("path", { d: `M${at - 5},4 h10 l-5,9 z${mark.is === "not taken" ? ` M${at - 6},13 L${at + 6},3` : ""}`, class: `kv-capture kv-${mark.is.replace(" ", "-")}` },
        s("title", {}, `capture at token ${mark.at}: ${mark.is}`)));
    }
    let top = 16;
    // names are above their rows, so that no box covers one, however long it is
    for (const row of groups) {
      const tall = Math.max(16, Math.min(44, 10 + row.layers));
      parts.push(text(0, top + 9, row.label));
      top += 12;
      parts.push(s("line", { x1: EDGE, x2: width - EDGE, y1: top + tall, y2: top + tall, class: "kv-rule" }));
      for (const span of row.spans) {
        // a whole state is kept for one place, its end
        const whole = span.state !== "missing" && span.start >= span.end;
        const wide = whole ? 16 : Math.max(2, x(span.end) - x(span.start) - 1.5);
        const left = whole ? Math.max(0, x(span.end) - 17) : x(span.start);
        const drawn = s("g", { class: `kv-span kv-${span.state}${whole ? " kv-whole" : ""}`, "data-node": span.node },
          s("rect", { x: left, y: top + 2, width: wide, height: tall - 4, rx: 2 }),
          s("title", {}, spanWords(span, row)));
        if (wide > 14) drawn.append(s("text", { x: left + wide / 2, y: top + tall / 2 + 4, "text-anchor": "middle", class: "kv-letter" }, LETTER[span.state]));
        parts.push(drawn);
      }
      top += tall + 5;
    }
    parts.push(text(0, top + 9, `live buffers: ${bytesWords(reading?.live_logical ?? 0)} of ${bytesWords(reading?.live ?? 0)} filled`));
    top += 14;
    for (const row of live) {
      const start = row.kind === "recurrent" ? Math.max(EDGE, x(row.offset) - 8) : x(row.from);
      const room = row.kind === "recurrent" ? start + 8 : x(Math.max(row.offset, row.from + row.room));
      const words = `${row.label}: ${liveWords(row)}`;
      const lines = labelWidth(words) * 0.92 > width ? [`${row.label}:`, liveWords(row)] : [words];
      for (const line of lines) {
        parts.push(text(0, top + 9, line));
        top += 12;
      }
      parts.push(s("g", { class: "kv-live-buffer", "data-group": row.group },
        s("rect", { x: start, y: top, width: Math.max(1, room - start), height: 12, rx: 2, class: "kv-room" }),
        s("rect", { x: start, y: top, width: Math.max(0, x(row.offset) - start), height: 12, rx: 2, class: "kv-filled" }),
        s("title", {}, `${row.label}: ${liveWords(row)}`)));
      top += 17;
    }
    for (const tick of tokenTicks(extent, Math.floor(width / 70))) {
      parts.push(s("line", { x1: x(tick.at), x2: x(tick.at), y1: top, y2: top + 4, class: "kv-axis-line" }));
      parts.push(s("text", { x: x(tick.at), y: top + 14, class: "kv-small kv-tick", "text-anchor": tick.at === 0 ? "start" : x(tick.at) + labelWidth(tick.words) / 2 > width ? "end" : "middle" }, tick.words));
    }
    parts.push(s("line", { x1: EDGE, x2: width - EDGE, y1: top, y2: top, class: "kv-axis-line" }));
    top += 16;
    svg.setAttribute("height", String(top + 4));
    svg.setAttribute("viewBox", `0 0 ${width} ${top + 4}`);
    svg.setAttribute("aria-label", `${title.textContent}. ` + groups.map((row) => `${row.label}: ${row.spans.map((span) => `${span.start} to ${span.end} ${span.state}`).join(", ") || "nothing"}`).join("; ") + `; live buffers: ${live.map((row) => `${row.label}: ${liveWords(row)}`).join("; ")}`);
    svg.replaceChildren(...hatches(app), ...parts);
  }

  svg.addEventListener("click", (event) => {
    const node = Number(event.target.closest(".kv-span")?.dataset.node ?? -1);
    if (node >= 0) app.select(node);
  });

  function spanWords(span, row) {
    const owner = span.node < 0 ? "waits for a node" : `on node #${span.node}`;
    if (span.state === "missing") return `${row.label}: nothing kept ${owner}, tokens ${span.start} to ${span.end}`;
    return `${row.label}: ${span.state} [${span.start}, ${span.end}) ${owner}; ${bytesWords(span.counted)} counted, ${bytesWords(span.retained)} retained; snapshot ${span.snapshot}, taken in request ${span.request} (${store.about.source || "live"})`;
  }

  function measure() {
    width = Math.max(260, svg.clientWidth || 480);
  }

  return { element: h("div", { class: "kv-spans-box" }, title, svg), show, measure };
}

function text(x, y, words) {
  return s("text", { x, y, class: "kv-small" }, words);
}

// The pattern of views: stripes, so that they differ from owned spans without colour.
function hatches(app) {
  return [s("defs", {}, s("pattern", { id: `${app.id}-stripes`, width: 6, height: 6, patternTransform: "rotate(45)", patternUnits: "userSpaceOnUse" },
    s("rect", { width: 6, height: 6, class: "kv-stripe-ground" }), s("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "kv-stripe" })))];
}
