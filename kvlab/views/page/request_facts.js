// What is known of a request at a moment, and nothing of what comes after it. Pure functions of the Store.

const PHASES = ["begin", "prefill", "attach", "decode", "close"];

// The twin runs no model: it has no seconds that mean anything, so its phases are measured in events.
const timed = (store) => store.about.source !== "twin";

const SORTS = { restored: "restored", recomputed: "recomputed", new: "evaluated", waiting: "to come", dropped: "not evaluated", generated: "generated" };

// Of a request that is over nothing changes any more; a row that changes is another object.
const overFacts = new WeakMap();

function requestFacts(store, row, seq) {
  const over = row.closed !== -1 && row.closed <= seq;
  if (over && overFacts.has(row)) return overFacts.get(row);
  const upTo = over ? row.closed : seq;
  const matched = row.matched_at !== -1 && row.matched_at <= upTo;
  const generated = over ? Math.max(0, row.generated) : store.marks("token_out", upTo, row.request).at(-1)?.end ?? 0;
  const facts = {
    request: row.request, label: row.label, tokens: Math.max(0, row.tokens), over, generated, cancelled: over && row.stop === "cancelled",
    matched: matched ? row.matched : null, cached: matched ? row.cached : null, left: matched ? row.left : null,
    reason: matched || over ? row.reason : "", layer: matched || over ? row.layer : "",
    // seconds, null where none were recorded
    ttft: over && timed(store) && generated > 0 && row.ttft_s > 0 ? row.ttft_s : null,
    speed: over && timed(store) && generated > 1 && row.decode_s > 0 ? (generated - 1) / row.decode_s : null,
  };
  facts.evaluated = evaluatedUpTo(store, facts, upTo);
  facts.runs = promptRuns(facts);
  facts.phases = phasesUpTo(store, row, facts, upTo);
  if (over) overFacts.set(row, facts);
  return facts;
}

// How far into its prompt a request has come: what was restored counts too.
function evaluatedUpTo(store, { request, tokens, cached, over, cancelled, generated }, seq) {
  const chunks = store.marks("chunk_ran", seq, request);
  // an import has no chunks
  if (generated || (over && !cancelled && !chunks.length)) return tokens;
  return chunks.reduce((most, mark) => Math.max(most, mark.end), Math.max(0, cached ?? 0));
}

// Runs of tokens of one sort: restored, matched but evaluated again, new, still to come or never evaluated, generated.
function promptRuns({ tokens, matched, cached, evaluated, over, generated }) {
  const restored = Math.max(0, cached ?? 0);
  const agreed = Math.max(restored, matched ?? 0);
  const cut = [[0, Math.min(restored, tokens), "restored"], [restored, Math.min(agreed, evaluated), "recomputed"], [agreed, evaluated, "new"],
    [evaluated, tokens, over ? "dropped" : "waiting"], [tokens, tokens + generated, "generated"]];
  return cut.filter(([from, to]) => to > from).map(([start, end, sort]) => ({ start, end, sort }));
}

// Phases as [name, from, to], the one under way up to the moment: in seconds, or of a twin in events; none where events of phases are left out.
function phasesUpTo(store, row, facts, seq) {
  const began = timed(store) ? row.times.began : row.began;
  if (began === undefined || store.about.left_out?.length) return [];
  const at = (one) => (timed(store) ? store.tables.events.t[store.placeOf(one)] : one);
  const read = phaseEnds(store, row.request, seq);
  const ends = facts.over && timed(store) ? PHASES.filter((name) => row.times[name] !== undefined).map((name) => [name, row.times[name]]) : read.map(([name, one]) => [name, at(one)]);
  if (!facts.over) ends.push([phaseAfter(read.at(-1), facts, store.marks("chunk_ran", seq, row.request).at(-1)?.seq ?? -1), at(seq)]);
  const phases = [];
  let from = began;
  for (const [name, to] of ends) {
    if (to <= from) continue;
    if (phases.at(-1)?.[0] === name) phases.at(-1)[2] = to;
    else phases.push([name, from, to]);
    from = to;
  }
  return phases;
}

// The events with which the phases of a request have ended, up to a moment.
function phaseEnds(store, request, seq) {
  const { readings } = store.tables;
  const ends = [];
  for (let row = lastUpTo(readings.seq ?? [], seq); row >= 0 && readings.request[row] === request; row -= 1) {
    const name = store.about.phases[readings.phase[row]];
    if (PHASES.includes(name) && name !== ends[0]?.[0]) ends.unshift([name, readings.seq[row]]);
  }
  return ends;
}

// A prompt is evaluated in several parts, each of which ends with a reading.
function phaseAfter([name, readAt] = [], { evaluated, tokens }, chunkAt) {
  if (name === "prefill" && (evaluated < tokens - 1 || chunkAt > readAt)) return name;
  return PHASES[Math.min(PHASES.length - 1, PHASES.indexOf(name) + 1)];
}

const NO_SECONDS = "–";

const ttftWords = ({ ttft, over }, store) => (ttft !== null ? `${(ttft * 1000).toFixed(ttft < 0.01 ? 2 : 0)} ms` : over || !timed(store) ? NO_SECONDS : "…");
const speedWords = ({ speed, over }, store) => (speed !== null ? `${speed.toFixed(0)} tok/s` : over || !timed(store) ? NO_SECONDS : "…");
const reuseWords = ({ cached, matched, tokens }) => `${cached ?? NO_SECONDS}/${matched ?? NO_SECONDS}/${tokens}`;
const runWords = (runs) => runs.map((run) => `${run.end - run.start} ${SORTS[run.sort]}`).join(", ") || "none yet";

function whyWords(facts) {
  const reason = facts.reason ? facts.reason.replaceAll("_", " ") + (facts.layer ? ` (${facts.layer})` : "") : facts.over ? "not recorded" : "not matched yet";
  return facts.cancelled ? `${cancelWords(facts)}; ${reason}` : reason;
}

function cancelWords({ generated, evaluated, tokens }) {
  return generated ? `cancelled after ${many(generated, "new token")}` : `cancelled at ${evaluated} of ${many(tokens, "token")}`;
}

function requestWords(facts, store) {
  const phases = facts.phases.map(([name, from, to]) => `${name} ${phaseWords(to - from, store)}`).join(", ");
  return `request ${facts.request}${facts.label ? ` ${facts.label}` : ""}: ${runWords(facts.runs)}; cached/matched/tokens ${reuseWords(facts)}; ` +
    `${phases || "no phase yet"}; TTFT ${ttftWords(facts, store)}, decode ${speedWords(facts, store)}; ${whyWords(facts)}`;
}

const phaseWords = (length, store) => (timed(store) ? `${(length * 1000).toFixed(1)} ms` : many(length, "event"));
