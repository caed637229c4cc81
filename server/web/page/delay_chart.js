// How long documents waited, in global batches: a histogram since the server started.

import { MARGIN, plotWidth, valueAxis } from "./axes.js";
import { ChartPanel } from "./chart_panel.js";
import { svg } from "./elements.js";
import { exact, percent } from "./format.js";

const PLOT = { top: 24, bottom: 170 };
const HEIGHT = 196;
// Pixels that a bin's name takes, and its share.
const LABEL_ROOM = 40;
const BAR_LABEL_ROOM = 50;

// Bins as texts, from the bounds of a histogram: "0", "1", "2–3", "> 64".
export function binNames(bounds) {
  const names = bounds.map((bound, i) => {
    const above = i === 0 ? -1 : bounds[i - 1];
    if (!Number.isInteger(bound) || !Number.isInteger(above)) return `≤ ${bound}`;
    return bound - above <= 1 ? `${bound}` : `${above + 1}–${bound}`;
  });
  return [...names, bounds.length ? `> ${bounds.at(-1)}` : "all"];
}

export class DelayChart extends ChartPanel {
  constructor() {
    super({
      id: "delay",
      title: "Delay of documents",
      hint: "Global batches that were admitted after a document's own before it went.",
    });
  }

  show(totals) {
    const { delayBounds, delayDocuments } = totals;
    this.names = binNames(delayBounds);
    this.documents = this.names.map((_, i) => delayDocuments[i] ?? 0);
    this.all = this.documents.reduce((a, b) => a + b, 0);
    this.showEmpty(this.all ? undefined : "No document went into a step yet.");
    this.redraw();
  }

  // Bins beyond the last that has documents say nothing.
  get bins() {
    const last = this.documents.findLastIndex((documents) => documents > 0);
    return Math.min(Math.max(last + 2, 4), this.documents.length);
  }

  draw(width) {
    const pitch = plotWidth(width) / this.bins;
    const shares = this.documents.slice(0, this.bins).map((each) => each / this.all);
    const axis = valueAxis({ to: Math.max(...shares), ...PLOT, width, format: percent });
    const every = Math.ceil(LABEL_ROOM / pitch);
    const left = (i) => MARGIN.left + i * pitch;
    const text = (i, y, className, content) => svg("text",
      { class: className, x: left(i) + pitch / 2, y, "text-anchor": "middle" }, content);
    const nodes = shares.flatMap((share, i) => {
      // What there is stays visible.
      const height = share > 0 ? Math.max(PLOT.bottom - axis.scale(share), 1.5) : 0;
      return [
        svg("rect", {
          class: "bar", x: left(i) + 2, width: Math.max(pitch - 4, 1), height,
          y: PLOT.bottom - height, "data-bin": i, "data-value": this.documents[i],
        }),
        ...(pitch >= BAR_LABEL_ROOM && share > 0
          ? [text(i, PLOT.bottom - height - 5, "bar-label", percent(share))] : []),
        ...(i % every === 0 ? [text(i, HEIGHT - 8, "tick", this.names[i])] : []),
      ];
    });
    return {
      height: HEIGHT,
      nodes: [...axis.nodes, ...nodes],
      columns: shares.map((share, i) => ({
        key: i, x: left(i), width: pitch, ...PLOT, lines: [
          `Delay ${this.names[i]}`,
          `${exact(this.documents[i])} of ${exact(this.all)} documents, ${percent(share)}`],
      })),
      description: `Of ${exact(this.all)} documents ${percent(shares[0])} went with a delay `
        + `of ${this.names[0]}. Arrow keys go from column to column.`,
    };
  }

  tableColumns() {
    return ["Delay", "Documents", "Share"].map((text) => ({ text, numeric: true }));
  }

  tableRows() {
    return this.names.map((name, i) =>
      [name, exact(this.documents[i]), percent(this.documents[i] / this.all)]);
  }
}
