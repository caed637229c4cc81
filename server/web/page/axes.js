// The parts that charts share: a value axis with its grid, and step numbers below.

import { svg } from "./elements.js";
import { exact } from "./format.js";
import { labelled, linear, ticks } from "./scale.js";

// Space left of the plot for labels, and right of it.
export const MARGIN = { left: 52, right: 8 };
// The axis goes on above the largest value by this.
const HEADROOM = 1.06;
const LABEL_HEIGHT = 12;

// A value axis whose values lie between `top` and `bottom`, in pixels.
export function valueAxis({ to, from = 0, top, bottom, width, format, wanted = 4 }) {
  const ground = from === to ? from + 1 : to;
  const scale = linear(from, from + (ground - from) * HEADROOM, bottom, top);
  const values = [from, ...ticks(ground, wanted, from).filter((value) =>
    scale(value) >= top - 0.5 && scale(value) <= bottom - LABEL_HEIGHT)];
  const nodes = values.flatMap((value) => [
    svg("line", {
      class: value === values[0] ? "axis" : "grid",
      x1: MARGIN.left, x2: width - MARGIN.right, y1: scale(value), y2: scale(value),
    }),
    svg("text", { class: "tick", x: MARGIN.left - 8, y: scale(value) + 4, "text-anchor": "end" },
      format(value)),
  ]);
  return { scale, nodes };
}

// The numbers of steps at their middles, as many as have room.
export function stepLabels(indices, middle, y, pitch) {
  const digits = exact(indices.at(-1) ?? 0).length;
  const wants = labelled(indices.length, pitch, digits * 8 + 16);
  return indices.flatMap((index, i) => (wants(i)
    ? [svg("text", { class: "tick", x: middle(i), y, "text-anchor": "middle" }, exact(index))]
    : []));
}

export function axisTitle(text, y) {
  return svg("text", { class: "axis-title", x: 0, y }, text);
}

// Where columns of the last steps go: { shown, pitch, left(i), middle(i) }.
export function stepColumns({ shown, pitch }, width) {
  const end = width - MARGIN.right;
  const left = (i) => end - (shown - i) * pitch;
  return { shown, pitch, left, middle: (i) => left(i) + pitch / 2 };
}

export function plotWidth(width) {
  return width - MARGIN.left - MARGIN.right;
}
