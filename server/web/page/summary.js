// The figures at the top of a job's page.

import { html, setText } from "./elements.js";
import { count, counted, elapsed, exact, imbalance, percent } from "./format.js";
import { gain, stateOf } from "./job_state.js";

const TILES = [
  ["imbalance", "Imbalance, weighted"],
  ["gain", "Plain packing takes"],
  ["steps", "Steps"],
  ["tokens", "Tokens a step"],
  ["waiting", "Waiting"],
  ["wait", "Trainers waited"],
  ["subscribers", "Subscribers"],
];

function waited({ stepWaitSeconds, stepsTaken }) {
  if (!stepsTaken) return ["–", "no trainer has said"];
  const each = stepWaitSeconds / stepsTaken;
  return [each < 0.9995 ? `${(each * 1000).toPrecision(3)} ms` : elapsed(each),
    `for a step, over ${counted(stepsTaken, "step")}`];
}

// For each tile its figure and what is said below it.
function figures({ job, totals, subscribers, producers }, steps) {
  const ratio = gain(totals);
  const behind = subscribers.reduce((most, each) => Math.max(most, each.lagSteps), 0);
  const last = steps.at(-1);
  const ago = last ? elapsed((Date.now() - last.decidedAt) / 1000) : undefined;
  return {
    imbalance: [imbalance(totals.weightedImbalance),
      `plain packing ${imbalance(totals.originalWeightedImbalance)}`],
    gain: [ratio ? `${ratio.toFixed(2)}×` : "–", "as long for the same work, predicted"],
    steps: [exact(job.nextStep), `${exact(job.durableSteps)} durable`
      + `${ago ? `, last ${ago} ago` : ""}`],
    tokens: [totals.fullSteps ? count(totals.meanStepTokens) : "–",
      totals.fullSteps ? `± ${percent(totals.stepTokensCv)} (CV)` : "no full step since the start"],
    waiting: [count(job.waitingTokens), `tokens in ${counted(job.waitingDocuments, "document")}`],
    wait: waited(totals),
    subscribers: [exact(job.subscribers), `${behind ? `slowest ${counted(behind, "step")} behind`
      : "none behind"}, ${counted(producers, "producer")}`],
  };
}

export class Summary {
  constructor() {
    this.badge = html("span", { class: "badge" });
    this.title = html("h1", { tabindex: "-1" });
    this.about = html("p", { class: "about" });
    this.tiles = new Map(TILES.map(([key, label]) => {
      const value = html("dd", { class: "value" });
      const note = html("dd", { class: "note" });
      const element = html("div", { class: "tile", "data-tile": key },
        html("dt", {}, label), value, note);
      return [key, { element, value, note }];
    }));
    this.element = html("div", { class: "summary" },
      html("div", { class: "heading" }, this.title, this.badge), this.about,
      html("dl", { class: "tiles" }, [...this.tiles.values()].map(({ element }) => element)));
  }

  showName(name) {
    setText(this.title, name);
  }

  show(observation, steps) {
    const { job } = observation;
    const state = stateOf(job);
    setText(this.badge, state.name);
    this.badge.className = `badge ${state.mark}`;
    this.badge.title = state.about;
    setText(this.about, this.shape(job));
    for (const [key, [value, note]] of Object.entries(figures(observation, steps))) {
      setText(this.tiles.get(key).value, value);
      setText(this.tiles.get(key).note, note);
    }
  }

  shape({ epoch, spec }) {
    const micro = spec.data * spec.microBatchesPerRank;
    return [`policy ${spec.policy}`, `${exact(micro)} micro-batches of ${count(spec.window)} `
      + `(DP ${spec.data} × ${spec.microBatchesPerRank})`, `at most ${count(spec.maxLength)} `
      + "tokens each", `CP ${spec.context}`, `TP ${spec.tensor}`, `PP ${spec.pipeline}`,
    spec.sharding && `sharding ${spec.sharding}`, `layout ${spec.layout}`, `epoch ${epoch}`]
      .filter(Boolean).join(" · ");
  }
}
