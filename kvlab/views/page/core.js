// What all parts of the page share: figures as words, elements, and the Store: the dataset that Python sent, and any moment of it.
// Files of this folder are joined to one module in the order of kvlab/views/dashboard/page.py; nothing is loaded from elsewhere.

const UNITS = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

function bytesWords(count) {
  for (const [name, size] of UNITS) if (Math.abs(count) >= size) return `${(count / size).toFixed(2)} ${name}`;
  return `${count} B`;
}

const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// What was in a cache before a live run has events with numbers below 0.
const eventWords = (seq) => (seq < 0 ? "before the run" : `event ${seq}`);

// Pixels that small words of an axis take, rather more than fewer.
const labelWidth = (words) => Math.ceil(6.3 * words.length);

function fill(template, figures) {
  return template.replace(/\{(\d+)(:b)?\}/g, (_, place, isBytes) => {
    const value = figures[Number(place)];
    return isBytes && typeof value === "number" ? bytesWords(value) : String(value);
  });
}

const SVG = "http://www.w3.org/2000/svg";

function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

// The last row with column[row] <= value in a rising column; -1 when there is none.
function lastUpTo(column, value) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

class Store {
  constructor(data) {
    this.about = data;
    this.tables = { events: {}, nodes: {}, spans: {}, readings: {}, predicted: {}, marks: {}, ranks: {}, wrong: {}, buffers: {}, moves: {}, sites: {}, texts: {}, tokens: {} };
    this.requests = [];
    this.rowOfRequest = new Map();
    this.kinds = [];
    this.templates = [];
    this.callSites = [];
    this.ranksOf = new Map();
    this.ranksRead = 0;
    this.saidBy = new Map();
    this.saidRead = 0;
    this.listeners = new Set();
    this.scenes = new Map();
    this.version = 0;
    this.take(data);
  }

  // Takes a dataset or what came after it: rows to append, versions that ended, requests that changed.
  take(delta) {
    for (const [name, columns] of Object.entries(delta.add ?? {})) {
      const table = this.tables[name];
      for (const [column, values] of Object.entries(columns)) {
        const kept = (table[column] ??= []);
        for (const value of values) kept.push(value);
      }
    }
    for (const [name, pairs] of Object.entries(delta.ended ?? {})) {
      for (const [row, seq] of pairs) this.tables[name].died[row] = seq;
    }
    for (const row of delta.requests ?? []) {
      if (!this.rowOfRequest.has(row.request)) {
        this.rowOfRequest.set(row.request, this.requests.length);
        this.requests.push(row);
      } else this.requests[this.rowOfRequest.get(row.request)] = row;
    }
    this.kinds.push(...(delta.kinds ?? []));
    this.templates.push(...(delta.templates ?? []));
    this.callSites.push(...(delta.call_sites ?? []));
    if (delta.groups) this.about.groups = delta.groups;
    this.version += 1;
    this.scenes.clear();
    for (const listener of [...this.listeners]) listener();
  }

  get count() {
    return this.tables.events.seq?.length ?? 0;
  }

  seqAt(place) {
    return this.count ? this.tables.events.seq[Math.max(0, Math.min(place, this.count - 1))] : -1;
  }

  placeOf(seq) {
    return Math.max(0, lastUpTo(this.tables.events.seq ?? [], seq));
  }

  kindAt(place) {
    return this.count ? this.kinds[this.tables.events.kind[place]] : "";
  }

  sentenceAt(place) {
    if (!this.count) return "Nothing has happened yet.";
    const [template, ...figures] = this.tables.events.sentence[place];
    return fill(this.templates[template], figures);
  }

  requestAt(place) {
    return this.count ? this.tables.events.request[place] : 0;
  }

  // The texts of a request's tokens, by their place in prompt and reply; of -1 - node those of a node from before the run.
  tokenTexts(request) {
    const { tokens } = this.tables;
    for (; this.saidRead < (tokens.seq?.length ?? 0); this.saidRead += 1) {
      const of = tokens.request[this.saidRead];
      if (!this.saidBy.has(of)) this.saidBy.set(of, []);
      tokens.texts[this.saidRead].forEach((text, place) => { this.saidBy.get(of)[tokens.start[this.saidRead] + place] = text; });
    }
    return this.saidBy.get(request) ?? [];
  }

  // The Python code that allocated the bytes of an event, its callers after it, a line each; "" when the recording does not carry it.
  callSite(seq) {
    const { sites } = this.tables;
    const row = lastUpTo(sites.seq ?? [], seq);
    return row >= 0 && sites.seq[row] === seq ? this.callSites[sites.site[row]] : "";
  }

  // The row of a reading (or prediction) that holds at seq; null before the first. All that was there before a live run was there at once.
  reading(seq, table = "readings") {
    const columns = this.tables[table];
    const row = columns.seq ? lastUpTo(columns.seq, seq < 0 ? -1 : seq) : -1;
    return row < 0 ? null : Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]]));
  }

  // The counted bytes that were read last up to seq; null before the first reading.
  countedAt(seq) {
    const { readings } = this.tables;
    const row = readings.seq ? lastUpTo(readings.seq, seq) : -1;
    return row < 0 ? null : readings.counted[row];
  }

  // Events of one sort that a request had up to seq.
  marks(what, seq, request = null) {
    const { marks } = this.tables;
    const code = this.about.what.indexOf(what);
    const found = [];
    for (let row = lastUpTo(marks.seq ?? [], seq); row >= 0; row -= 1) {
      if (request !== null && marks.request[row] !== request) break;
      if (marks.what[row] === code) found.push({ seq: marks.seq[row], start: marks.start[row], end: marks.end[row], node: marks.node[row], request: marks.request[row] });
      if (request === null && found.length) break;
    }
    return found.reverse();
  }

  // What decides when eviction takes a node, as recorded up to seq; null when nothing is.
  rank(node, seq) {
    const { ranks } = this.tables;
    for (; this.ranksRead < (ranks.seq?.length ?? 0); this.ranksRead += 1) {
      const of = ranks.node[this.ranksRead];
      if (!this.ranksOf.has(of)) this.ranksOf.set(of, { seq: [], row: [] });
      this.ranksOf.get(of).seq.push(ranks.seq[this.ranksRead]);
      this.ranksOf.get(of).row.push(this.ranksRead);
    }
    const known = this.ranksOf.get(node);
    const place = known ? lastUpTo(known.seq, seq) : -1;
    if (place < 0) return null;
    const row = known.row[place];
    return { protection: this.about.protections[ranks.protection[row]], usedAt: ranks.used_at[row], keys: [ranks.first[row], ranks.second[row], ranks.third[row], node] };
  }

  scene(place) {
    const seq = this.seqAt(place);
    let made = this.scenes.get(seq);
    if (!made) {
      made = new Scene(this, seq, place);
      if (this.scenes.size > 4) this.scenes.delete(this.scenes.keys().next().value);
      this.scenes.set(seq, made);
    }
    return made;
  }
}
