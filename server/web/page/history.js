// The steps that the page has of a job, kept up by asking only for later ones.

import { readObservation } from "./answers.js";

// Whether the steps of an answer are known to go on where those before it ended. A job that
// was made anew may have more steps by then than the one before had.
function goesOn(before, { job, steps }) {
  const end = before.job.nextStep;
  if (job.nextStep === end) return job.digest === before.job.digest;
  const digest = steps.find(({ index }) => index === end)?.previousDigest;
  // An older server, which may lead the job by now, doesn't tell it.
  return digest === "" || digest === before.job.digest;
}

// Whether an answer is known to be of the same history as one before it: no step was
// withdrawn, and neither job nor server began anew.
export function sameHistory(before, after) {
  return after.job.epoch === before.job.epoch && after.job.nextStep >= before.job.nextStep
    && after.totals.fullSteps >= before.totals.fullSteps
    && after.totals.documents >= before.totals.documents
    // Steps of the same documents have the same digests, whatever they are predicted to take.
    && after.job.specText === before.job.specText && goesOn(before, after);
}

export class StepHistory {
  // At most `limit` steps, the last ones.
  constructor(limit) {
    this.limit = limit;
    this.clear();
  }

  clear() {
    this.steps = [];
    this.latest = undefined;
  }

  // The `from_step` to ask with; undefined: for all.
  get fromStep() {
    return this.steps.length ? this.steps.at(-1).index + 1 : undefined;
  }

  // Whether an answer to `fromStep` carries on from what is here. It doesn't where it is of
  // another history, or more steps were decided than an answer holds: then all are to be
  // asked for again.
  carriesOn(observation) {
    if (!this.steps.length) return true;
    if (!sameHistory(this.latest, observation)) return false;
    const { job, steps } = observation;
    const next = this.fromStep;
    return steps.length ? steps[0].index === next : job.nextStep === next;
  }

  // An answer that carries on, or one to a question for all after clear().
  take(observation) {
    this.steps = [...this.steps, ...observation.steps].slice(-this.limit);
    this.latest = observation;
  }
}

// Asks `observe({ steps, fromStep })` for JSON and brings the history up to date with it.
// `now`: milliseconds, a function.
export async function refresh(history, observe, now = Date.now) {
  const ask = async (fromStep) =>
    readObservation(await observe({ steps: history.limit, fromStep }), now());
  const fromStep = history.fromStep;
  let observation = await ask(fromStep);
  if (!history.carriesOn(observation)) {
    // An answer to a question for all is the truth whatever was here before.
    const all = await ask(undefined);
    history.clear();
    observation = all;
  }
  history.take(observation);
}
