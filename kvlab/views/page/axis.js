// Axes: which values, tokens and requests are named, and where, so that no words meet. Pure functions.

// Pixels left free at both ends of an axis of tokens.
const EDGE = 10;

// The largest of 1, 2, 5, 10, 20, … that is at most `value`; `up`: the smallest that is at least that.
function roundStep(value, up = false) {
  const base = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => step * base);
  return up ? steps.find((step) => step >= value * 0.999999) : steps.findLast((step) => step <= value * 1.000001);
}

// Round values in one unit from 0 to `top` bytes, two to five of them and 0.
function bytesTicks(top) {
  if (top <= 0) return [{ value: 0, words: "0" }];
  const [name, size] = UNITS.find(([, one]) => top >= one) ?? ["B", 1];
  const step = Math.max(size === 1 ? 1 : 0, roundStep(top / size / 2));
  const ticks = [{ value: 0, words: "0" }];
  for (let place = 1; place * step * size <= top; place += 1) ticks.push({ value: place * step * size, words: `${Number((place * step).toFixed(6))} ${name}` });
  return ticks;
}

// Round token positions from 0 up to `extent`, at most `most` and 0; the last one says what is counted.
function tokenTicks(extent, most) {
  const step = Math.max(1, roundStep(extent / Math.max(1, most), true));
  const ticks = [];
  for (let at = 0; at <= extent; at += step) ticks.push({ at, words: String(at) });
  ticks.at(-1).words = many(ticks.at(-1).at, "token");
  return ticks;
}

// Requests to be named at the pixel where they begin: round numbers that leave room for each other and end left of `right`.
function requestTicks(rows, x, right) {
  if (!rows.length) return [];
  const room = Math.max(1, right - x(rows[0].began));
  const every = Math.max(1, roundStep((rows.length * (labelWidth(`r${rows.at(-1).request}`) + 8)) / room, true));
  const ticks = [];
  let free = -Infinity;
  rows.forEach((row, place) => {
    const words = `r${row.request}`;
    const at = x(row.began);
    if ((place && row.request % every) || at < free || at + 2 + labelWidth(words) > right) return;
    ticks.push({ at, words });
    free = at + labelWidth(words) + 8;
  });
  return ticks;
}
