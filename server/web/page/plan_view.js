// One micro-batch: its attention as causal triangles, a band for each slice in the colour
// of the rank that computes it, and how much of the work each rank has.

import { html, setText, svg, table } from "./elements.js";
import { count, counted, duration, exact, imbalance, percent } from "./format.js";
import { bandPath, documentShapes, pairsOf, rankImbalance, rankPath } from "./plan_shape.js";

// Documents drawn with their slices, the longest; others are drawn as plain triangles.
const DRAWN = 48;
// A document with fewer pixels than this has no slices to be seen.
const SMALLEST = 3;
// Side of a drawing in its own units; CSS scales it.
const SIDE = 480;
// Fills that ranks take in turn: so many colours, and so many patterns of each.
const COLOURS = 8;
const PATTERNS = 3;
const LISTED = 200;

// The class by which a rank is filled; ranks 24 apart look alike and are told by labels.
export function rankClass(rank) {
  const pattern = Math.floor(rank / COLOURS) % PATTERNS;
  return `rank-${rank % COLOURS}${pattern ? ` pattern-${pattern}` : ""}`;
}

// Patterns are laid over the colour.
function patternOver(rank, d) {
  const pattern = Math.floor(rank / COLOURS) % PATTERNS;
  return pattern ? [svg("path", { class: "over", d, fill: `url(#pattern-${pattern})` })] : [];
}

function patterns() {
  const line = (d) => svg("path", { class: "pattern-line", d });
  const tile = (id, d) => svg("pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, line(d));
  return svg("defs", {}, tile("pattern-1", "M0 6L6 0M-1 1L1 -1M5 7L7 5"),
    tile("pattern-2", "M0 3H6M3 0V6"));
}

const TITLE = "Plan of a micro-batch";

export class PlanView {
  constructor() {
    this.title = html("h2", { id: "plan-title" }, TITLE);
    this.note = html("p", { class: "hint", role: "status" });
    this.body = html("div", { class: "plan" });
    this.streams = [];
    this.element = html("section",
      { class: "panel wide", id: "plan", "aria-labelledby": "plan-title" },
      html("header", {}, this.title), this.note, this.body);
    this.showNothing();
  }

  showNothing() {
    this.showNote("Choose a bar above to see how its micro-batch is cut.");
  }

  showNote(text) {
    setText(this.title, TITLE);
    setText(this.note, text);
    this.body.replaceChildren();
    this.body.hidden = true;
    this.element.removeAttribute("data-micro-batch");
  }

  // Names of the job's streams.
  setStreams(streams) {
    if (JSON.stringify(streams) === JSON.stringify(this.streams)) return;
    this.streams = streams;
    if (!this.body.hidden && this.selected) this.select(this.selected.index);
  }

  show(step, microBatch) {
    this.microBatch = microBatch;
    this.shapes = documentShapes(microBatch);
    this.longest = [...this.shapes].sort((a, b) => b.length - a.length);
    this.selected = this.longest[0];
    setText(this.title, `Plan of micro-batch ${microBatch.index} of step ${exact(step)}`);
    setText(this.note, this.summary());
    this.element.setAttribute("data-micro-batch", `${step}/${microBatch.index}`);
    this.body.hidden = false;
    if (!this.shapes.length) {
      this.body.replaceChildren(html("p", { class: "empty" }, "It has no document."));
      return;
    }
    this.zoom = html("figure", { class: "zoom" });
    this.body.replaceChildren(this.whole(), this.zoom, this.ranks(), this.list());
    this.select(this.selected.index);
  }

  summary() {
    const { documents, tokens, padding, workload, sharding, ranks } = this.microBatch;
    return `${counted(documents.length, "document")}, ${exact(tokens)} tokens`
      + `${padding ? ` and ${exact(padding)} of padding` : ""}, ${duration(workload)} predicted, `
      + `cut ${sharding.replace("_", " ") || "?"} over ${counted(ranks.length, "rank")}.`;
  }

  // The mask of the whole sequence: its documents' triangles along the diagonal.
  whole() {
    const scale = SIDE / Math.max(this.microBatch.tokens, 1);
    const seen = this.longest.filter(({ length }) => length * scale >= SMALLEST).slice(0, DRAWN);
    const drawn = new Set(seen.map(({ index }) => index));
    const rest = this.shapes.filter(({ index }) => !drawn.has(index))
      .map((shape) => bandPath(0, shape.length, scale, shape.start * scale, shape.start * scale));
    const drawing = svg("svg", {
      viewBox: `0 0 ${SIDE} ${SIDE}`, class: "mask", role: "img",
      "aria-label": `Attention of the micro-batch: ${this.shapes.length} triangles along the `
        + "diagonal, a row for each query, in bands by rank",
    }, patterns(), svg("rect", { class: "mask-ground", width: SIDE, height: SIDE }),
    rest.length ? svg("path", { class: "small-documents", d: rest.join("") }) : undefined,
    seen.map((shape) => this.triangle(shape, scale)));
    drawing.addEventListener("click", (event) => {
      const index = event.target.closest("[data-document]")?.getAttribute("data-document");
      if (index) this.select(Number(index));
    });
    return html("figure", { class: "whole" }, drawing, html("figcaption", {},
      "The whole sequence: keys to the right, queries down. ",
      rest.length ? `${counted(rest.length, "short document")} in grey.` : ""));
  }

  triangle(shape, scale) {
    const at = shape.start * scale;
    return svg("g", { "data-document": shape.index }, this.bands(shape, scale, at),
      svg("path", { class: "outline", d: bandPath(0, shape.length, scale, at, at) }));
  }

  // A path for each rank that has a part of the document.
  bands(shape, scale, at) {
    const ranks = [...new Set(shape.slices.map(({ rank }) => rank))];
    return ranks.flatMap((rank) => {
      const d = rankPath(shape, rank, scale, at, at);
      const slices = shape.slices.filter((slice) => slice.rank === rank);
      const band = svg("path", {
        class: `band ${rankClass(rank)}`, d, "data-rank": rank,
        "data-slices": slices.map(({ begin, end }) => `${begin}-${end}`).join(" "),
      }, svg("title", {}, `Rank ${rank}: ${slices.slice(0, 8).map(({ begin, end }) =>
        `[${exact(begin)}, ${exact(end)})`).join(", ")}`));
      return [band, ...patternOver(rank, d)];
    });
  }

  // One document, as large as the drawing.
  select(index) {
    this.selected = this.shapes[index];
    const document = this.microBatch.documents[index];
    const drawing = svg("svg", {
      viewBox: `0 0 ${SIDE} ${SIDE}`, class: "mask", role: "img", "data-document": index,
      "aria-label": `Document ${index}: ${this.selected.slices.length} slices`,
    }, svg("rect", { class: "mask-ground", width: SIDE, height: SIDE }),
    this.bands(this.selected, SIDE / Math.max(document.length, 1), 0));
    const whole = document.documentLength === document.length ? ""
      : `, tokens ${exact(document.offset)} to ${exact(document.offset + document.length)} of `
        + exact(document.documentLength);
    this.zoom.replaceChildren(drawing, html("figcaption", {},
      `Document ${index}: ${exact(document.length)} tokens${whole}, number `
      + `${document.sequence} of ${this.streams[document.stream] ?? "its stream"}, in `
      + `${counted(this.selected.slices.length, "slice")}.`));
    for (const row of this.body.querySelectorAll("[data-choice]")) {
      row.setAttribute("aria-pressed", String(row.getAttribute("data-choice") === `${index}`));
    }
  }

  // What each rank computes, against the mean.
  ranks() {
    const { ranks, attendedPairs } = this.microBatch;
    const most = Math.max(...attendedPairs, 1);
    const rows = ranks.map(({ rank, tokens, padding, slices }, i) => {
      const bar = svg("svg", { class: "meter", viewBox: "0 0 100 10", "aria-hidden": "true",
        preserveAspectRatio: "none" }, svg("rect", { class: rankClass(rank), height: 10,
        width: (attendedPairs[i] / most) * 100 }));
      return [html("span", {}, svg("svg", { class: "rank-swatch", viewBox: "0 0 12 12",
        "aria-hidden": "true" }, svg("path", { class: rankClass(rank), d: "M0 0H12V12H0Z" }),
      patternOver(rank, "M0 0H12V12H0Z")), `${rank}`), bar, count(attendedPairs[i]),
      exact(tokens) + (padding ? ` + ${exact(padding)}` : ""), exact(slices.length)];
    });
    const columns = [{ text: "Rank" }, { text: "Attended pairs" },
      { text: "", numeric: true }, { text: "Tokens", numeric: true },
      { text: "Slices", numeric: true }];
    return html("div", { class: "plan-ranks" },
      html("h3", {}, `Work of the ranks: ${imbalance(rankImbalance(attendedPairs))}`
        + " imbalance"), html("div", { class: "scroll" }, table(columns, rows,
        { class: "compact ranks" })));
  }

  list() {
    const pairs = this.microBatch.attendedPairs.reduce((a, b) => a + b, 0);
    const rows = this.longest.slice(0, LISTED).map((shape) => [
      html("button", { type: "button", "data-choice": shape.index, class: "choice",
        click: () => this.select(shape.index) }, `${shape.index}`),
      exact(shape.length),
      percent(pairsOf({ begin: 0, end: shape.length }) / Math.max(pairs, 1)),
      exact(shape.slices.length)]);
    const columns = [{ text: "Document" }, { text: "Tokens", numeric: true },
      { text: "Of the pairs", numeric: true }, { text: "Slices", numeric: true }];
    const more = this.longest.length - rows.length;
    return html("div", { class: "plan-documents" }, html("h3", {}, "Documents, longest first"),
      html("div", { class: "scroll", tabindex: "0", role: "group",
        "aria-label": "Documents of the micro-batch" },
      table(columns, rows, { class: "compact" }),
      more > 0 ? html("p", { class: "hint" }, `and ${exact(more)} shorter`) : undefined));
  }
}
