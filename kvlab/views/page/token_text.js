// Search by what nodes hold: a text that may span several tokens and go on over the end of an edge. Pure functions of the Store.

// The tokens of a node's edge as [{ node, at, text }]; null when the text of one of them is not there.
function nodeTokens(scene, node) {
  const { start, end, request, born } = scene.node(node);
  const { store } = scene;
  // a node from before the run has its own texts; one that grew in place holds the text of the request that made it grow
  const sources = [request > 0 ? request : -1 - node, store.requestAt(store.placeOf(born))];
  const texts = sources.map((source) => store.tokenTexts(source)).find((found) => found.length >= end && found[start] !== undefined);
  return texts ? texts.slice(start, end).map((text, place) => ({ node, at: start + place, text: text.toLowerCase() })) : null;
}

// Where a text is: [{ first, node, start, end }], from the token `start` on node `first` to before the token `end` on `node`.
function textHits(scene, wanted) {
  const hits = [];
  const stack = scene.tops.map((node) => [node, []]);
  while (stack.length) {
    const [node, before] = stack.pop();
    const own = nodeTokens(scene, node);
    const tokens = [...before, ...(own ?? [])];
    const text = tokens.map((token) => token.text).join("");
    const above = lengthOf(before);
    for (let from = own ? text.indexOf(wanted) : -1; from >= 0; from = text.indexOf(wanted, from + 1)) {
      if (from + wanted.length <= above) continue;
      const [first, last] = [tokenAt(tokens, from), tokenAt(tokens, from + wanted.length - 1)];
      hits.push({ first: first.node, node: last.node, start: first.at, end: last.at + 1 });
    }
    const carried = own ? lastOf(tokens, wanted.length - 1) : [];
    for (let child = scene.firstChild[node]; child >= 0; child = scene.nextSibling[child]) stack.push([child, carried]);
  }
  return hits.sort((a, b) => a.start - b.start || a.node - b.node);
}

const lengthOf = (tokens) => tokens.reduce((sum, token) => sum + token.text.length, 0);

function tokenAt(tokens, place) {
  let left = place;
  return tokens.find((token) => (left -= token.text.length) < 0);
}

// The last tokens that together have at least `length` characters: a text may begin in them and end below.
function lastOf(tokens, length) {
  let from = tokens.length;
  for (let left = length; from > 0 && left > 0; left -= tokens[from].text.length) from -= 1;
  return tokens.slice(from);
}

// Which tokens of which nodes hits cover: node -> [[start, end], …].
function hitMarks(scene, hits) {
  const marks = new Map();
  for (const hit of hits) {
    for (const node of scene.pathTo(hit.node)) {
      const edge = scene.node(node);
      const [start, end] = [Math.max(hit.start, edge.start), Math.min(hit.end, edge.end)];
      if (start >= end) continue;
      if (!marks.has(node)) marks.set(node, []);
      if (!marks.get(node).some((one) => one[0] === start && one[1] === end)) marks.get(node).push([start, end]);
    }
  }
  return marks;
}

const NO_TEXTS = {
  hidden: "Texts are not shown here, so none is searched: show this with texts=True.",
  not_stored: "No texts were stored, so none is searched: record with store_text=True.",
  no_tokens: "The text of single tokens is not there, so texts are found by request only.",
};

// What a search means: `#7` or `7` a node, `r3` what a request made and went through, else a text of tokens, then words of labels.
function search(scene, words) {
  const wanted = words.trim().toLowerCase();
  const nodes = searched(scene, words);
  if (!wanted || /^#?\d+$/.test(wanted)) return { nodes, hits: [], note: "" };
  const request = /^r(?:equest)?\s*(\d+)$/.exec(wanted);
  if (request) return { nodes, hits: [], note: nodes.length ? "" : requestNote(scene, Number(request[1])) };
  const hits = textHits(scene, wanted);
  return { nodes: [...new Set([...hits.map((hit) => hit.node), ...nodes])], hits, note: NO_TEXTS[scene.store.about.searchable] ?? "" };
}

function requestNote(scene, request) {
  const row = scene.store.requests[scene.store.rowOfRequest.get(request)];
  return row && row.began <= scene.seq ? `Request ${request} made no node that is still there.` : `Request ${request} has not begun.`;
}

// Nodes by number, by request, or by words of labels (and of texts where they are shown).
function searched(scene, words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return [];
  const number = /^#?(\d+)$/.exec(wanted);
  if (number) return scene.exists(Number(number[1])) ? [Number(number[1])] : [];
  const request = /^r(?:equest)?\s*(\d+)$/.exec(wanted);
  const requests = request ? [Number(request[1])] : scene.store.requests.filter((row) => row.label.toLowerCase().includes(wanted) || textsOf(scene.store, row.request, scene.seq).toLowerCase().includes(wanted)).map((row) => row.request);
  const found = new Set(requests);
  return scene.alive.filter((node) => node !== 0 && found.has(scene.node(node).request)).sort((a, b) => a - b);
}

function textsOf(store, request, seq) {
  const { texts } = store.tables;
  const found = [];
  (texts.seq ?? []).forEach((at, row) => { if (at <= seq && texts.request[row] === request) found.push(texts.text[row]); });
  return found.join("");
}
