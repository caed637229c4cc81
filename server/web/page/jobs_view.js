// All jobs, a row for each.

import { listJobs, observeJob } from "./api.js";
import { readJobs, readTotals } from "./answers.js";
import { html, setText, table } from "./elements.js";
import { count, counted, exact, imbalance } from "./format.js";
import { stateOf } from "./job_state.js";
import { formatRoute } from "./routes.js";

// Jobs on a page, and of how many at a time the imbalance is asked for.
const PAGE = 100;
const ASKED_AT_ONCE = 4;

const COLUMNS = [
  { text: "Job" }, { text: "State" }, { text: "Epoch", numeric: true },
  { text: "Steps", numeric: true }, { text: "Durable", numeric: true },
  { text: "Waiting tokens", numeric: true }, { text: "Subscribers", numeric: true },
  { text: "Imbalance", numeric: true }, { text: "Plain packing", numeric: true },
];

export class JobsView {
  interval = 2000;

  // `refused`: names of jobs whose figures the token may not see, kept from view to view.
  constructor(refused) {
    this.refused = refused;
    // By job; undefined where there was no answer.
    this.totals = new Map();
    this.turn = 0;
    // Tokens of the pages up to the one that is shown, and of the next; "" where none is.
    this.tokens = [""];
    this.nextToken = "";
    this.previous = html("button", { type: "button", click: () => this.turnTo(-1) },
      "Previous page");
    this.next = html("button", { type: "button", click: () => this.turnTo(1) }, "Next page");
    this.pages = html("nav", { class: "pages", "aria-label": "Pages of jobs", hidden: true },
      this.previous, this.next);
    this.note = html("p", { class: "hint" });
    this.box = html("div", { class: "table-box" });
    this.empty = html("div", { class: "empty-state", hidden: true },
      html("h2", {}, "No job yet"),
      html("p", {}, "Create one, and it is shown here:"),
      html("pre", {}, html("code", {}, "evenpackctl jobs create run-7 --streams corpus "
        + "--dp 2 --micro-batches 2 --window 131072")));
    this.element = html("div", { class: "view" },
      html("div", { class: "heading" }, html("h1", { tabindex: "-1" }, "Jobs")), this.note,
      html("section", { class: "panel wide", id: "jobs", "aria-label": "Jobs" },
        this.box, this.empty), this.pages);
  }

  get title() {
    return "Jobs";
  }

  dispose() {}

  async ask(signal) {
    for (;;) {
      const { tokens } = this;
      const answer = await listJobs({ pageSize: PAGE, pageToken: tokens.at(-1) }, signal);
      const { jobs, nextPageToken } = readJobs(answer);
      const broken = answer.brokenJobs ?? [];
      const elsewhere = answer.ledElsewhere ?? [];
      if (tokens === this.tokens && tokens.length > 1 && !nextPageToken
          && jobs.length + broken.length + elsewhere.length === 0) {
        // The last page's jobs were deleted.
        this.tokens = tokens.slice(0, -1);
      } else {
        await this.askTotals(jobs, signal);
        // Another page may be wanted meanwhile.
        if (tokens === this.tokens) {
          this.nextToken = nextPageToken;
          this.show(jobs, broken, elsewhere);
          return;
        }
      }
    }
  }

  turnTo(pages) {
    if (pages > 0 && this.nextToken) this.tokens = [...this.tokens, this.nextToken];
    else if (pages < 0 && this.tokens.length > 1) this.tokens = this.tokens.slice(0, -1);
    else return;
    // Unknown until that page is there.
    this.nextToken = "";
    this.showPages();
    this.onHurry?.();
  }

  // A few jobs' figures in turn, so that many jobs cost the server no more than a few.
  async askTotals(jobs, signal) {
    this.forgetOthers(new Set(jobs.map(({ name }) => name)));
    const names = jobs.map(({ name }) => name).filter((name) => !this.refused.has(name));
    const missing = names.filter((name) => !this.totals.has(name));
    const asked = new Set([...missing.slice(0, ASKED_AT_ONCE),
      ...Array.from({ length: ASKED_AT_ONCE }, (_, i) => names[(this.turn + i) % names.length])]
      .filter((name) => name !== undefined).slice(0, ASKED_AT_ONCE));
    this.turn = names.length ? (this.turn + ASKED_AT_ONCE) % names.length : 0;
    await Promise.all([...asked].map(async (name) => {
      try {
        const { totals } = await observeJob(name, { steps: 1 }, signal);
        this.totals.set(name, readTotals(totals));
      } catch (error) {
        if (signal.aborted) throw error;
        // Deleted meanwhile; or asked again in its turn, not before all others.
        if (error.isAbsence) this.totals.delete(name);
        else this.totals.set(name, this.totals.get(name));
        if (error.isDenial) this.refused.add(name);
      }
    }));
  }

  // A job that is made anew has nothing of the one before.
  forgetOthers(listed) {
    for (const known of [this.totals, this.refused]) {
      for (const name of known.keys()) if (!listed.has(name)) known.delete(name);
    }
  }

  showPages() {
    this.previous.disabled = this.tokens.length === 1;
    this.next.disabled = !this.nextToken;
    this.pages.hidden = this.previous.disabled && this.next.disabled;
  }

  show(jobs, broken, elsewhere) {
    const rows = jobs.length + broken.length + elsewhere.length;
    this.showPages();
    this.empty.hidden = rows > 0 || !this.pages.hidden;
    this.box.hidden = !this.empty.hidden;
    setText(this.note, this.pages.hidden ? (rows ? counted(rows, "job") : "")
      : `Page ${this.tokens.length}: ${counted(rows, "job")}, by name`);
    const focused = this.box.contains(document.activeElement)
      ? document.activeElement.getAttribute("href") : undefined;
    this.box.replaceChildren(table(COLUMNS,
      [...jobs.map((job) => this.row(job)), ...broken.map((job) => this.brokenRow(job)),
        ...elsewhere.map((place) => this.elsewhereRow(place))],
      { class: "cards jobs" }));
    if (focused) {
      [...this.box.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)
        ?.focus();
    }
  }

  row(job) {
    const totals = this.totals.get(job.name);
    const state = stateOf(job);
    return [html("a", { href: formatRoute({ job: job.name }) }, job.name),
      html("span", { class: `badge ${state.mark}`, title: state.about }, state.name),
      exact(job.epoch), exact(job.nextStep), exact(job.durableSteps), count(job.waitingTokens),
      exact(job.subscribers), html("strong", { class: "job-figure" },
        imbalance(totals?.weightedImbalance ?? 0)),
      imbalance(totals?.originalWeightedImbalance ?? 0)];
  }

  brokenRow({ name, error }) {
    return [name ?? "", html("span", { class: "badge bad", title: error ?? "" }, "Broken"),
      "–", "–", "–", "–", "–", "–", "–"];
  }

  elsewhereRow({ name, address }) {
    const about = address ? `Led by the server at ${address}` : "No server leads it just now";
    return [name, html("span", { class: "badge", title: about },
      address ? `At ${address}` : "Nobody"), "–", "–", "–", "–", "–", "–", "–"];
  }
}
