// Imbalance over steps: the job's, and that of plain packing on the same documents.

import { MARGIN, plotWidth, stepColumns, stepLabels, valueAxis } from "./axes.js";
import { ChartPanel } from "./chart_panel.js";
import { svg } from "./elements.js";
import { exact, imbalance } from "./format.js";
import { columns } from "./scale.js";

const PLOT = { top: 12, bottom: 190 };
const HEIGHT = 216;

// A path through points; it has a gap where a value is 0.
function lineThrough(values, x, y) {
  let drawing = false;
  return values.map((value, i) => {
    if (!(value > 0)) {
      drawing = false;
      return "";
    }
    const command = drawing ? "L" : "M";
    drawing = true;
    return `${command}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  }).join("");
}

export class ImbalanceChart extends ChartPanel {
  constructor() {
    super({
      id: "imbalance",
      title: "Imbalance",
      hint: "Slowest over mean micro-batch of each step; 1 is perfect. Dashed: over all "
        + "steps, weighted by their time.",
      legend: [
        { mark: "mark-job", text: "this job" },
        { mark: "mark-plain-line", text: "plain packing" },
      ],
    });
    this.steps = [];
  }

  show(steps, totals) {
    this.steps = steps;
    this.totals = totals;
    this.showEmpty(steps.length ? undefined : "No step was decided yet.");
    this.redraw();
  }

  draw(width) {
    const at = stepColumns(
      columns({ count: this.steps.length, width: plotWidth(width) }), width);
    this.shown = this.steps.slice(-at.shown);
    const most = this.shown.reduce((a, step) =>
      Math.max(a, step.imbalance, step.originalImbalance), 1.02);
    const axis = valueAxis({ from: 1, to: most, ...PLOT, width, format: (v) => v.toFixed(2) });
    return {
      height: HEIGHT,
      nodes: [...axis.nodes, ...this.weighted(axis.scale, most, width),
        ...this.lines(at, axis.scale),
        ...stepLabels(this.shown.map(({ index }) => index), at.middle, HEIGHT - 6, at.pitch)],
      columns: this.shown.map((step, i) => ({
        key: step.index, x: at.left(i), width: at.pitch, ...PLOT, lines: this.tip(step),
      })),
      description: this.describe(),
    };
  }

  lines(at, scale) {
    const paths = [["originalImbalance", "plain"], ["imbalance", "job"]].map(([name, mark]) =>
      svg("path", {
        class: `line ${mark}`,
        d: lineThrough(this.shown.map((step) => step[name]), at.middle, scale),
      }));
    // One step alone makes no line.
    if (this.shown.length > 1) return paths;
    const only = this.shown[0];
    return [["originalImbalance", "plain"], ["imbalance", "job"]]
      .filter(([name]) => only?.[name] > 0)
      .map(([name, mark]) => svg("circle",
        { class: `dot ${mark}`, cx: at.middle(0), cy: scale(only[name]), r: 4 }));
  }

  weighted(scale, most, width) {
    return [["originalWeightedImbalance", "plain"], ["weightedImbalance", "job"]]
      .filter(([name]) => this.totals[name] >= 1 && this.totals[name] <= most)
      .map(([name, mark]) => svg("line", {
        class: `weighted ${mark}`, x1: MARGIN.left, x2: width - MARGIN.right,
        y1: scale(this.totals[name]), y2: scale(this.totals[name]),
      }));
  }

  tip(step) {
    const lines = [`Step ${exact(step.index)}`, `this job: ${imbalance(step.imbalance)}`];
    if (step.originalImbalance > 0) {
      lines.push(`plain packing: ${imbalance(step.originalImbalance)}`);
    }
    return [...lines, step.kind];
  }

  describe() {
    const last = this.shown.at(-1);
    return last ? `Lines over ${this.shown.length} steps. Weighted over all steps the `
      + `imbalance is ${imbalance(this.totals.weightedImbalance)}, of plain packing `
      + `${imbalance(this.totals.originalWeightedImbalance)}. Arrow keys go from step to `
      + "step." : "";
  }

  tableColumns() {
    return ["Step", "Imbalance", "Plain packing"].map((text) => ({ text, numeric: true }));
  }

  tableRows() {
    return [...this.shown].reverse().map((step) =>
      [exact(step.index), imbalance(step.imbalance), imbalance(step.originalImbalance)]);
  }
}
