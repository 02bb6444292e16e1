// Words about nodes, and the legend of the dashboard.

function nodeWords(store, scene, node) {
  const { start, end, request, born } = scene.node(node);
  const why = scene.protectedBy(node);
  const rank = why ? -1 : scene.candidates().indexOf(node);
  const used = store.rank(node, scene.seq)?.usedAt ?? null;
  const evict = why ? `protected: ${why}` : rank >= 0 ? `eviction candidate ${rank + 1} of ${scene.candidates().length}, first: ${scene.candidates().slice(0, 3).map((one) => `#${one}`).join(", ")}` : "order of eviction not recorded";
  return `${node === 0 ? "root" : `node #${node}`} [${start}, ${end}), ${many(end - start, "token")}, ${bytesWords(scene.counted[node])} counted; as it is since ${eventWords(born)}${request > 0 ? `, made by request ${request}` : ""}${used === null ? "" : `, last used ${used < 0 ? "" : "at "}${eventWords(used)}`}; ${evict}`;
}

function detailWords(store, scene, node) {
  if (!scene.exists(node)) return node >= 0 ? `Node #${node} does not exist at this moment.` : "Select a node to see its path and its snapshots.";
  const held = scene.spans(node).map((span) => `${store.about.groups[span.group]?.label ?? span.group}: ${span.state}, ${bytesWords(span.counted)} counted, ${bytesWords(span.retained)} retained`);
  return `${nodeWords(store, scene, node)}. ${held.join("; ") || "No snapshot."}`;
}

function legend() {
  const states = ["owned", "lazy", "view", "missing"].map((state) => h("span", {}, h("i", { class: `kv-chip kv-${state}` }, LETTER[state]), state));
  const keys = [". , next and back", "p phase", "r request", "space play", "[ ] ends of a window", "/ search", "o overview", "e eviction order", "f pool", "t b y q s go to trie, time, bytes, requests, tokens"];
  return h("p", { class: "kv-note kv-legend" }, ...states, h("span", {}, "frame = active path, ◂ frontier, ★ explicit restore point, ⚲ protected"), h("span", {}, `Keys: ${keys.join(" · ")}`));
}
