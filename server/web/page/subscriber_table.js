// Who follows a job, the slowest first, and the streams that feed it.

import { html, svg, table } from "./elements.js";
import { counted, count, elapsed, exact } from "./format.js";

// Rows written at once.
const LISTED = 64;
// Seconds without a step, while there are some, after which a subscriber is said to stand
// still.
const STANDS_STILL = 10;

function identity({ dpRank, cpRank, name }) {
  return JSON.stringify([dpRank, cpRank ?? -1, name]);
}

// Since when each subscriber has received nothing, as far as this page has seen.
export class Progress {
  constructor() {
    this.seen = new Map();
  }

  note(subscribers, now) {
    const before = this.seen;
    this.seen = new Map(subscribers.map((each) => {
      const key = identity(each);
      const last = before.get(key);
      const same = last && last.received === each.receivedSteps && each.lagSteps > 0;
      return [key, { received: each.receivedSteps, since: same ? last.since : now }];
    }));
  }

  // Seconds for which one that is behind has received nothing.
  standing(subscriber, now) {
    const { since } = this.seen.get(identity(subscriber)) ?? { since: now };
    return subscriber.lagSteps > 0 ? (now - since) / 1000 : 0;
  }
}

// { text, mark } of what a subscriber does.
export function conditionOf(subscriber, standing) {
  if (!subscriber.lagSteps) return { text: "up to date", mark: "done" };
  if (standing >= STANDS_STILL) {
    return { text: `took nothing for ${elapsed(standing)}`, mark: "bad" };
  }
  if (!subscriber.unusedCredits) return { text: "not ready for more", mark: "warning" };
  return { text: "catching up", mark: "running" };
}

export class SubscriberTable {
  constructor() {
    this.progress = new Progress();
    this.note = html("p", { class: "hint" });
    this.box = html("div", { class: "table-box" });
    this.element = html("section",
      { class: "panel wide", id: "subscribers", "aria-labelledby": "subscribers-title" },
      html("header", {}, html("h2", { id: "subscribers-title" }, "Subscribers")),
      this.note, this.box);
  }

  show({ job, subscribers }, now) {
    this.progress.note(subscribers, now);
    const listed = subscribers.slice(0, LISTED);
    const all = Math.max(job.subscribers, subscribers.length);
    this.note.textContent = all === 0 ? "Nobody follows this job now."
      : all > listed.length ? `The slowest ${listed.length} of ${exact(all)}, slowest first.`
        : "Slowest first.";
    if (!listed.length) {
      this.box.replaceChildren();
      return;
    }
    const most = listed.reduce((a, each) => Math.max(a, each.lagSteps), 1);
    this.box.replaceChildren(table([
      { text: "Subscriber" }, { text: "Ranks" }, { text: "Behind", numeric: true },
      { text: "" }, { text: "State" }, { text: "Next step", numeric: true },
      { text: "Received", numeric: true }, { text: "Credits", numeric: true },
    ], listed.map((each) => this.row(each, most, now)), { class: "cards" }));
  }

  row(each, most, now) {
    const { text, mark } = conditionOf(each, this.progress.standing(each, now));
    const meter = svg("svg", { class: "meter", viewBox: "0 0 100 10", "aria-hidden": "true",
      preserveAspectRatio: "none" }, svg("rect", { class: `lag ${mark}`, height: 10,
      width: (each.lagSteps / most) * 100 }));
    return [each.name || "(no name)",
      `DP ${each.dpRank}, ${each.cpRank === undefined ? "all CP" : `CP ${each.cpRank}`}`,
      counted(each.lagSteps, "step"), meter,
      html("span", { class: `badge ${mark}` }, text), exact(each.nextStep),
      exact(each.receivedSteps), each.sendsDurable ? exact(each.unusedCredits)
        : `${exact(each.unusedCredits)}, observes`];
  }
}

export class StreamTable {
  constructor() {
    this.box = html("div", { class: "table-box" });
    this.element = html("section",
      { class: "panel wide", id: "streams", "aria-labelledby": "streams-title" },
      html("header", {}, html("h2", { id: "streams-title" }, "Streams")),
      html("p", { class: "hint" }, "What producers sent, and what no step has taken yet."),
      this.box);
  }

  show({ streams }) {
    this.box.replaceChildren(table([
      { text: "Stream" }, { text: "State" }, { text: "Accepted", numeric: true },
      { text: "Buffered", numeric: true }, { text: "Buffered tokens", numeric: true },
      { text: "Passed over", numeric: true },
    ], streams.slice(0, LISTED).map((each) => [each.name,
      html("span", { class: `badge ${each.ended ? "done" : "running"}` },
        each.ended ? "ended" : "open"), exact(each.accepted), exact(each.bufferedDocuments),
      count(each.bufferedTokens), exact(each.skippedDocuments)]), { class: "cards" }),
    streams.length > LISTED ? html("p", { class: "hint" },
      `and ${exact(streams.length - LISTED)} more streams`) : "");
  }
}
