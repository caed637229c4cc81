// Numbers as people read them: three or four figures and a unit.

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COUNT_UNITS = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]];
const TIME_UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// Three figures at least, no digit after the point where the whole part has three.
function threeFigures(value) {
  const size = Math.abs(value);
  if (size >= 99.95) return value.toFixed(0);
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

function withoutTrailingZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// A count with all its digits: "131,072".
export function exact(value) {
  return Number.isFinite(value) ? GROUPED.format(value) : "–";
}

// A count: all its digits below 10,000, then thousands and so on: "131K", "1.24M".
export function count(value) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 9999.5) return GROUPED.format(value);
  // What would round to 1,000 of a unit is 1 of the next.
  const [size, unit] = COUNT_UNITS.find(([size]) => Math.abs(value) >= size * 0.9995);
  return withoutTrailingZeros(threeFigures(value / size)) + unit;
}

// Nanoseconds: "12.3 ms".
export function duration(nanoseconds) {
  if (!Number.isFinite(nanoseconds)) return "–";
  if (nanoseconds === 0) return "0 ms";
  const [size, unit] = TIME_UNITS.find(([size]) => Math.abs(nanoseconds) >= size * 0.9995)
    ?? TIME_UNITS.at(-1);
  return `${withoutTrailingZeros(threeFigures(nanoseconds / size))} ${unit}`;
}

// How long ago, or how long: "0.4 s", "12 s", "3 min", "2 h 5 min", "4 d 3 h".
export function elapsed(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 9.95) return `${Math.max(seconds, 0).toFixed(1)} s`;
  if (seconds < 119.5) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// An imbalance, 1 or above: "1.017". Nothing was measured where it is 0.
export function imbalance(value) {
  return value > 0 && Number.isFinite(value) ? value.toFixed(3) : "–";
}

// A share, given as 0 to 1: "0 %", "0.4 %", "37 %".
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value < 0.1) return "< 0.1 %";
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
}

// "1 step", "2 steps".
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
