// The last steps, a bar for each micro-batch: workload above, tokens below, and behind
// each what plain packing made of the same documents.

import { axisTitle, MARGIN, plotWidth, stepLabels, valueAxis } from "./axes.js";
import { ChartPanel } from "./chart_panel.js";
import { svg } from "./elements.js";
import { count, duration, exact, imbalance } from "./format.js";
import { groupedBars, largestOf } from "./scale.js";

const WORKLOAD = { top: 40, bottom: 210 };
const TOKENS = { top: 246, bottom: 346 };
const HEIGHT = 374;
// A micro-batch this much above the mean is marked: others wait for it.
const NOTABLE = 1.01;
// Pixels that a step's imbalance takes in writing.
const LABEL_ROOM = 74;

function largest(columns) {
  return columns.reduce((most, values) =>
    values.reduce((a, b) => Math.max(a, b), most), 0);
}

function withPadding(step) {
  return step.tokens.map((tokens, i) => tokens + step.padding[i]);
}

export function barKey(step, microBatch) {
  return `${step}/${microBatch}`;
}

export class MicroBatchChart extends ChartPanel {
  // `onChoose(step, microBatch)` hears of a chosen bar.
  constructor({ onChoose }) {
    super({
      id: "micro-batches",
      title: "Micro-batches of the last steps",
      hint: "All GPUs wait for the slowest micro-batch of a step. Choose a bar to see how "
        + "it is cut over its ranks.",
      legend: [
        { mark: "mark-job", text: "this job" },
        { mark: "mark-slowest", text: "its slowest, where over 1 % above the mean" },
        { mark: "mark-plain", text: "plain packing" },
      ],
      wide: true,
      onPick: (key) => onChoose(...key.split("/").map(Number)),
    });
    this.steps = [];
    this.chosen = undefined;
  }

  // Plans of steps before `oldestStep` are no more to be had.
  show(steps, chosen, oldestStep) {
    this.steps = steps.filter((step) => step.workload.length > 0);
    this.oldestStep = oldestStep;
    this.showEmpty(this.steps.length ? undefined : "No step was decided yet.");
    this.choose(chosen);
  }

  choose(chosen) {
    this.chosen = chosen && barKey(chosen.step, chosen.microBatch);
    this.redraw();
  }

  draw(width) {
    const bars = this.steps.reduce((most, step) => Math.max(most, step.workload.length), 1);
    const layout = groupedBars({ steps: this.steps.length, bars, width: plotWidth(width) });
    this.shown = this.steps.slice(-layout.groups);
    const group = Math.ceil(bars / layout.perBar) * layout.pitch;
    const left = (i) => MARGIN.left + i * (group + layout.gap);
    const axes = this.axes(width);
    const drawn = this.shown.map((step, i) => this.group(step, left(i), layout, axes));
    const indices = this.shown.map(({ index }) => index);
    return {
      height: HEIGHT,
      nodes: [...axes.workload.nodes, ...axes.tokens.nodes,
        axisTitle("Predicted forward pass", 12), axisTitle("Tokens", TOKENS.top - 14),
        ...drawn.flatMap(({ nodes }) => nodes),
        ...stepLabels(indices, (i) => left(i) + group / 2, HEIGHT - 8, group + layout.gap)],
      columns: drawn.flatMap(({ columns }) => columns),
      description: this.describe(),
    };
  }

  axes(width) {
    const work = largest(this.shown.flatMap((step) => [step.workload, step.originalWorkload]));
    const tokens = largest(this.shown.flatMap((step) =>
      [withPadding(step), step.originalTokens]));
    return {
      workload: valueAxis({ to: work, ...WORKLOAD, width, format: duration }),
      tokens: valueAxis({ to: tokens, ...TOKENS, width, format: count, wanted: 3 }),
    };
  }

  // The bars of one step, `left` pixels from the left.
  group(step, left, { pitch, perBar }, { workload, tokens }) {
    const rows = {
      work: largestOf(step.workload, perBar),
      plainWork: largestOf(step.originalWorkload, perBar),
      tokens: largestOf(step.tokens, perBar),
      padded: largestOf(withPadding(step), perBar),
      plainTokens: largestOf(step.originalTokens, perBar),
    };
    const most = largest([rows.work]);
    const slowest = step.imbalance >= NOTABLE ? rows.work.indexOf(most) : -1;
    const nodes = [];
    const columns = [];
    rows.work.forEach((work, i) => {
      const x = left + i * pitch;
      const microBatch = this.microBatchOf(step, i, perBar);
      const key = barKey(step.index, microBatch);
      const marks = [key === this.chosen ? "chosen" : "", i === slowest ? "slowest" : ""];
      const draw = (scale, value, ghost, kind, padded) => nodes.push(
        ...this.bar({ x, pitch, scale, value, ghost, padded, kind, marks, key }));
      draw(workload.scale, work, rows.plainWork[i], "workload");
      draw(tokens.scale, rows.tokens[i], rows.plainTokens[i], "tokens", rows.padded[i]);
      columns.push({
        key, x, width: pitch, top: WORKLOAD.top, bottom: TOKENS.bottom,
        lines: this.lines(step, microBatch),
      });
    });
    nodes.push(...this.imbalances(step, left, rows.work.length * pitch));
    return { nodes, columns };
  }

  // Where several share a bar, that of the slowest.
  microBatchOf(step, bar, perBar) {
    const first = bar * perBar;
    const run = step.workload.slice(first, first + perBar);
    return first + run.indexOf(largest([run]));
  }

  bar({ x, pitch, scale, value, ghost, padded, kind, marks, key }) {
    const inset = pitch >= 8 ? 2 : pitch >= 5 ? 1 : 0.25;
    const rect = (className, amount, from, margin, data = {}) => svg("rect", {
      class: className, x: x + margin, width: Math.max(pitch - 2 * margin, 0.5),
      y: scale(amount), height: Math.max(scale(from) - scale(amount), 0), ...data,
    });
    const nodes = [];
    if (ghost > 0) nodes.push(rect("ghost", ghost, 0, 0));
    if (padded > value) nodes.push(rect("padding", padded, value, inset));
    nodes.push(rect(["bar", kind, ...marks].filter(Boolean).join(" "), value, 0, inset,
      { "data-key": key, "data-kind": kind, "data-value": value }));
    // Where the ghost is hidden, a line shows its height.
    if (ghost > 0) {
      nodes.push(svg("line", {
        class: "ghost-top", x1: x, x2: x + pitch, y1: scale(ghost), y2: scale(ghost),
      }));
    }
    return nodes;
  }

  imbalances(step, left, width) {
    if (width < LABEL_ROOM) return [];
    return [svg("text", {
      class: "group-label", x: left + width / 2, y: WORKLOAD.top - 8, "text-anchor": "middle",
    }, svg("tspan", { class: "job-figure" }, imbalance(step.imbalance)),
    svg("tspan", { class: "plain-figure", dx: 5 },
      step.originalImbalance ? imbalance(step.originalImbalance) : ""))];
  }

  lines(step, i) {
    const lines = [`Step ${exact(step.index)}, micro-batch ${i}`,
      `${duration(step.workload[i])}, ${exact(step.tokens[i])} tokens`];
    if (step.padding[i]) lines.push(`${exact(step.padding[i])} tokens of padding`);
    if (step.originalWorkload[i] !== undefined) {
      lines.push(`plain packing: ${duration(step.originalWorkload[i])}, `
        + `${exact(step.originalTokens[i] ?? 0)} tokens`);
    }
    lines.push(`step: ${imbalance(step.imbalance)} imbalance, ${step.kind}`);
    if (step.index < this.oldestStep) lines.push("its plan is no longer kept");
    return lines;
  }

  describe() {
    const last = this.shown.at(-1);
    if (!last) return "";
    const plain = last.originalImbalance
      ? ` Plain packing of the same documents: ${imbalance(last.originalImbalance)}.` : "";
    return `Bars of ${last.workload.length} micro-batches for each of the last `
      + `${this.shown.length} steps. Step ${exact(last.index)} has an imbalance of `
      + `${imbalance(last.imbalance)}: its slowest micro-batch takes `
      + `${duration(largest([last.workload]))}.${plain} Arrow keys go from bar to bar, `
      + "Enter shows a micro-batch's plan.";
  }

  tableColumns() {
    return ["Step", "Micro-batch", "Workload", "Tokens", "Padding", "Plain workload",
      "Plain tokens"].map((text) => ({ text, numeric: true }));
  }

  tableRows() {
    return [...this.shown].reverse().flatMap((step) => step.workload.map((work, i) => [
      exact(step.index), exact(i), duration(work), exact(step.tokens[i]),
      exact(step.padding[i]), duration(step.originalWorkload[i] ?? NaN),
      exact(step.originalTokens[i] ?? NaN)]));
  }
}
