// A panel with a chart: its title, legend, drawing, what the pointer or the arrow keys
// point at, and the same figures as a table.

import { html, setText, svg, table } from "./elements.js";
import { exact } from "./format.js";

// Rows of a table: it is made anew whenever the figures change.
const MOST_ROWS = 1000;
// Distance of a tooltip from what it is about.
const TOOLTIP_GAP = 12;

// What a subclass's draw(width) returns:
//   nodes        SVG elements
//   height       of the drawing, in pixels
//   columns      what can be pointed at, from left to right: { key, x, width, lines,
//                top, bottom }, where lines are the texts of the tooltip and the first is
//                its heading
//   description  the drawing in a sentence
// Subclasses also have tableColumns() and tableRows().
export class ChartPanel {
  // legend: [{ mark, text }], where `mark` is the class of a swatch. `onPick(key)` hears
  // of a click or of Enter on a column.
  constructor({ id, title, hint, legend = [], controls = [], wide = false, onPick }) {
    this.onPick = onPick;
    this.columns = [];
    this.pointed = undefined;
    this.title = title;
    this.drawing = svg("svg", { role: "img", "aria-labelledby": `${id}-desc` });
    this.desc = html("p", { id: `${id}-desc`, class: "visually-hidden" });
    this.tooltip = html("div", { class: "tooltip", role: "status", hidden: true });
    this.stage = html("div", this.stageAttributes(id), this.drawing, this.tooltip);
    this.empty = html("p", { class: "empty", hidden: true });
    this.tableBox = html("div", { class: "table-box" });
    this.details = html("details", { toggle: () => this.fillTable() },
      html("summary", {}, "As a table"), this.tableBox);
    this.legend = html("ul", { class: "legend" }, legend.map(({ mark, text }) =>
      html("li", {}, html("span", { class: `swatch ${mark}`, "aria-hidden": "true" }), text)));
    this.hint = html("p", { class: "hint" }, hint ?? "");
    this.element = html("section", {
      class: wide ? "panel wide" : "panel", id, "aria-labelledby": `${id}-title`,
    }, html("header", {}, html("h2", { id: `${id}-title` }, title),
      html("div", { class: "controls" }, controls)), this.hint, this.legend, this.desc,
    this.stage, this.empty, this.details);
    // Nothing to draw yet.
    this.showEmpty("");
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.stage);
  }

  stageAttributes(id) {
    return {
      class: "stage",
      tabindex: "0",
      role: "group",
      "aria-roledescription": "chart",
      "aria-labelledby": `${id}-title`,
      "aria-describedby": `${id}-desc`,
      pointermove: (event) => this.pointAt(event),
      pointerleave: () => this.point(undefined),
      blur: () => this.point(undefined),
      click: (event) => this.pick(event),
      keydown: (event) => this.steer(event),
    };
  }

  dispose() {
    this.observer.disconnect();
  }

  // Shows a text in place of the drawing; undefined: the drawing.
  showEmpty(text) {
    this.empty.hidden = text === undefined;
    this.stage.hidden = text !== undefined;
    this.details.hidden = text !== undefined;
    setText(this.empty, text ?? "");
  }

  redraw() {
    const width = Math.floor(this.stage.clientWidth);
    if (this.stage.hidden || width < 40) return;
    const { nodes, height, columns, description } = this.draw(width);
    this.columns = columns;
    this.height = height;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("height", height);
    this.cursor = svg("rect", { class: "cursor", visibility: "hidden" });
    this.drawing.replaceChildren(...nodes, this.cursor);
    setText(this.desc, description);
    this.showPointed();
    if (this.details.open) this.fillTable();
  }

  fillTable() {
    if (!this.details.open) return;
    const rows = this.tableRows();
    const left = rows.length - MOST_ROWS;
    this.tableBox.replaceChildren(
      table(this.tableColumns(), rows.slice(0, MOST_ROWS)),
      html("p", { class: "hint" }, left > 0 ? `${exact(left)} more are left out` : ""));
  }

  columnAt(event) {
    const { left } = this.drawing.getBoundingClientRect();
    const x = event.clientX - left;
    const distance = (each) => Math.abs(each.x + each.width / 2 - x);
    return this.columns.reduce((best, each) =>
      (best === undefined || distance(each) < distance(best) ? each : best), undefined);
  }

  pointAt(event) {
    this.point(this.columnAt(event)?.key);
  }

  point(key) {
    this.pointed = key;
    this.showPointed();
  }

  pick(event) {
    const column = this.columnAt(event);
    if (!column) return;
    this.point(column.key);
    this.onPick?.(column.key);
  }

  // Arrow keys go from column to column.
  steer(event) {
    const last = this.columns.length - 1;
    const at = this.columns.findIndex(({ key }) => key === this.pointed);
    const moves = {
      ArrowLeft: at < 0 ? last : Math.max(at - 1, 0),
      ArrowRight: at < 0 ? last : Math.min(at + 1, last),
      Home: 0,
      End: last,
    };
    if (event.key in moves && last >= 0) {
      event.preventDefault();
      this.point(this.columns[moves[event.key]].key);
    } else if (event.key === "Escape") {
      this.point(undefined);
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      event.preventDefault();
      this.onPick?.(this.pointed);
    }
  }

  showPointed() {
    const column = this.columns.find(({ key }) => key === this.pointed);
    this.tooltip.hidden = column === undefined;
    this.cursor?.setAttribute("visibility", column ? "visible" : "hidden");
    if (!column) return;
    for (const [name, value] of Object.entries({
      x: column.x, width: Math.max(column.width, 2), y: column.top ?? 0,
      height: (column.bottom ?? this.height) - (column.top ?? 0),
    })) this.cursor.setAttribute(name, value);
    const [heading, ...rest] = column.lines;
    this.tooltip.replaceChildren(html("strong", {}, heading),
      ...rest.map((line) => html("span", {}, line)));
    this.placeTooltip(column);
  }

  // Beside the column, on the side that has room for it.
  placeTooltip(column) {
    const width = this.tooltip.offsetWidth;
    const right = column.x + column.width + TOOLTIP_GAP;
    const fits = right + width <= this.stage.clientWidth;
    const left = fits ? right : Math.max(0, column.x - width - TOOLTIP_GAP);
    this.tooltip.style.left = `${left}px`;
    this.tooltip.style.top = `${column.top ?? 0}px`;
  }
}
