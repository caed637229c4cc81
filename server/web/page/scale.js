// Where things go on an axis.

// The values of an axis from 0 (or `from`) to at least `to`, at most about `wanted` steps
// apart by 1, 2 or 5 times a power of ten.
export function ticks(to, wanted = 4, from = 0) {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [from, from + 1];
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power)
    .find((each) => each >= rough * 0.999999);
  const first = Math.floor(from / step + 1e-9);
  const last = Math.ceil(to / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)));
}

// Maps [from, to] to [start, end].
export function linear(from, to, start, end) {
  const span = to - from || 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

// How groups of bars, one of `bars` for each step, fit into `width` pixels.
//   groups   how many of the last steps are shown, 1 to `steps`
//   pitch    pixels from bar to bar
//   gap      pixels between groups
//   perBar   micro-batches that share a bar, 1 unless there are more than pixels for them
export function groupedBars({ steps, bars, width, wanted = 12 }) {
  const widest = 20;
  const narrowest = 5;
  const thinnest = 3;
  const gap = 14;
  if (bars * thinnest > width) {
    const perBar = Math.ceil(bars / Math.max(1, Math.floor(width / thinnest)));
    return { groups: 1, gap: 0, perBar, pitch: width / Math.ceil(bars / perBar) };
  }
  const pitchFor = (groups) => (width - gap * (groups - 1)) / groups / bars;
  const atMost = Math.max(1, Math.floor((width + gap) / (bars * narrowest + gap)));
  const groups = Math.max(1, Math.min(steps, atMost, wanted));
  return { groups, gap, perBar: 1, pitch: Math.min(widest, pitchFor(groups)) };
}

// The columns that fit: the last of `count`, `pitch` pixels apart and at most `widest`.
export function columns({ count, width, narrowest = 1, widest = 28 }) {
  const shown = Math.max(1, Math.min(count, Math.floor(width / narrowest)));
  return { shown, pitch: Math.min(widest, width / shown) };
}

// The largest value of each run of `size` values.
export function largestOf(values, size) {
  if (size === 1) return values;
  const runs = Math.ceil(values.length / size);
  return Array.from({ length: runs }, (_, i) =>
    values.slice(i * size, (i + 1) * size).reduce((a, b) => Math.max(a, b), 0));
}

// Which of `count` labels to write so that each has `room` pixels: every n-th from the
// last.
export function labelled(count, pitch, room) {
  const every = Math.max(1, Math.ceil(room / pitch));
  return (i) => (count - 1 - i) % every === 0;
}
