// A micro-batch's context-parallel plan as shapes. A document is a triangle: a row for
// each token as query, as wide as the keys that it attends to, itself and those before
// it. A slice of it is the band of the rows that one rank computes.

// Pairs of a query of [begin, end) and a key that it attends to.
export function pairsOf({ begin, end }) {
  return (end * (end + 1) - begin * (begin + 1)) / 2;
}

// Each document with its slices, by its place in the sequence:
// { index, start, length, slices: [{ rank, begin, end }] }, slices in order.
export function documentShapes(microBatch) {
  let start = 0;
  const shapes = microBatch.documents.map((document, index) => {
    const shape = { index, start, length: document.length, slices: [] };
    start += document.length;
    return shape;
  });
  for (const { rank, slices } of microBatch.ranks) {
    for (const { document, begin, end } of slices) {
      shapes[document]?.slices.push({ rank, begin, end });
    }
  }
  for (const shape of shapes) shape.slices.sort((a, b) => a.begin - b.begin);
  return shapes;
}

function rounded(value) {
  return Math.round(value * 100) / 100;
}

// The path of a document's rows [begin, end), `scale` pixels a token, with the document's
// first query and key at (left, top).
export function bandPath(begin, end, scale, left = 0, top = 0) {
  const x = (token) => rounded(left + token * scale);
  const y = (token) => rounded(top + token * scale);
  return `M${x(0)} ${y(begin)}H${x(begin)}L${x(end)} ${y(end)}H${x(0)}Z`;
}

// The path of all of one rank's slices of a document.
export function rankPath(shape, rank, scale, left, top) {
  return shape.slices.filter((slice) => slice.rank === rank)
    .map((slice) => bandPath(slice.begin, slice.end, scale, left, top)).join("");
}

// How uneven the ranks' work is: most over mean of their pairs; 0 without any.
export function rankImbalance(attendedPairs) {
  const sum = attendedPairs.reduce((a, b) => a + b, 0);
  return sum > 0 ? (Math.max(...attendedPairs) * attendedPairs.length) / sum : 0;
}
