// What waits after each step, in tokens or in documents: the outlier queues, stacked,
// filling and popping, above what waits in none.

import { plotWidth, stepColumns, stepLabels, valueAxis } from "./axes.js";
import { ChartPanel } from "./chart_panel.js";
import { html, svg, table } from "./elements.js";
import { count, counted, exact } from "./format.js";
import { columns } from "./scale.js";

const PLOT = { top: 12, bottom: 170 };
const HEIGHT = 196;
// What is counted, and where a step has it.
const UNITS = {
  tokens: { name: "Tokens", queues: "queueTokens", leftOver: "leftOverTokens" },
  documents: { name: "Documents", queues: "queueDocuments", leftOver: "leftOverDocuments" },
};
// Colours of queues; those beyond share the last.
const COLOURS = 6;

function queueClass(queue) {
  return `queue-${Math.min(queue, COLOURS - 1)}`;
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

export class QueueChart extends ChartPanel {
  constructor() {
    const choice = html("select", { "aria-label": "Count what waits in" },
      Object.entries(UNITS).map(([unit, { name }]) => html("option", { value: unit }, name)));
    super({
      id: "queues",
      title: "Waiting documents",
      hint: "Outliers wait in queues for others of their kind, the longest at the top. Grey: "
        + "what waits in no queue.",
      controls: [choice],
    });
    this.unit = UNITS.tokens;
    choice.addEventListener("change", () => {
      this.unit = UNITS[choice.value];
      this.redraw();
    });
    this.steps = [];
    this.now = html("div", { class: "now" });
    this.element.insertBefore(this.now, this.details);
  }

  show(steps, queues, job) {
    this.steps = steps;
    this.queues = queues;
    this.showEmpty(steps.length ? undefined : "No step was decided yet.");
    this.now.replaceChildren(...this.tableNow(job));
    this.redraw();
  }

  draw(width) {
    const at = stepColumns(
      columns({ count: this.steps.length, width: plotWidth(width) }), width);
    this.shown = this.steps.slice(-at.shown);
    const heights = this.shown.map((step) =>
      sum(step[this.unit.queues]) + step[this.unit.leftOver]);
    const axis = valueAxis({
      to: Math.max(...heights, 1), ...PLOT, width, format: (value) =>
        (Number.isInteger(value) ? count(value) : ""),
    });
    return {
      height: HEIGHT,
      nodes: [...axis.nodes,
        ...this.shown.flatMap((step, i) => this.stack(step, at.left(i), at.pitch, axis.scale)),
        ...stepLabels(this.shown.map(({ index }) => index), at.middle, HEIGHT - 6, at.pitch)],
      columns: this.shown.map((step, i) => ({
        key: step.index, x: at.left(i), width: at.pitch, ...PLOT, lines: this.tip(step),
      })),
      description: this.describe(),
    };
  }

  stack(step, left, pitch, scale) {
    const gap = pitch >= 6 ? 1 : 0;
    let below = 0;
    const layer = (className, amount, queue) => {
      if (!amount) return [];
      const y = scale(below + amount);
      const height = scale(below) - y;
      below += amount;
      return [svg("rect", {
        class: `stacked ${className}`, x: left + gap, width: pitch - 2 * gap, y, height,
        "data-step": step.index, "data-queue": queue, "data-value": amount,
      })];
    };
    return [...layer("left-over", step[this.unit.leftOver], "left-over"),
      ...step[this.unit.queues].flatMap((amount, i) => layer(queueClass(i), amount, i))];
  }

  // From `threshold` tokens to below that of the next queue.
  range(queue) {
    const from = this.queues[queue]?.threshold;
    const to = this.queues[queue + 1]?.threshold;
    if (from === undefined) return `queue ${queue}`;
    return to === undefined ? `${count(from)} tokens and more` : `${count(from)} to ${count(to)}`;
  }

  tip(step) {
    return [`After step ${exact(step.index)}`,
      ...step.queueDocuments.slice(0, 8).map((documents, i) =>
        `${this.range(i)}: ${counted(documents, "document")}, `
        + `${count(step.queueTokens[i] ?? 0)} tokens`),
      `in no queue: ${counted(step.leftOverDocuments, "document")}, `
      + `${count(step.leftOverTokens)} tokens`];
  }

  tableNow(job) {
    if (!this.queues.length) {
      return [html("p", { class: "hint" }, `No queue holds a document now. Waiting: `
        + `${counted(job.waitingDocuments, "document")}, ${count(job.waitingTokens)} tokens.`)];
    }
    const columns = [{ text: "Queue now" }, { text: "Documents", numeric: true },
      { text: "Tokens", numeric: true }, { text: "Oldest", numeric: true }];
    const rows = this.queues.map((queue, i) => [
      html("span", {}, html("span", { class: `swatch ${queueClass(i)}`, "aria-hidden": "true" }),
        this.range(i)),
      exact(queue.documents), count(queue.tokens),
      queue.documents ? counted(queue.oldestBatches, "batch", "batches") : "–"]);
    return [table(columns, rows, { class: "compact" })];
  }

  describe() {
    const last = this.shown.at(-1);
    if (!last) return "";
    return `Stacked columns over ${this.shown.length} steps. After step ${exact(last.index)} `
      + `${counted(sum(last.queueDocuments), "document")} waited in `
      + `${counted(last.queueDocuments.length, "queue")} and `
      + `${count(last.leftOverDocuments)} in none. Arrow keys go from step to step.`;
  }

  tableColumns() {
    const queues = this.shown.reduce((most, step) =>
      Math.max(most, step.queueDocuments.length), 0);
    return ["Step", ...Array.from({ length: queues }, (_, i) => this.range(i)), "In no queue"]
      .map((text) => ({ text, numeric: true }));
  }

  tableRows() {
    const queues = this.tableColumns().length - 2;
    return [...this.shown].reverse().map((step) => [exact(step.index),
      ...Array.from({ length: queues }, (_, i) => exact(step.queueDocuments[i] ?? 0)),
      exact(step.leftOverDocuments)]);
  }
}
