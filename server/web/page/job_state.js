// What a job is doing, in a word.

// { name, mark, about }: `mark` is the class of its badge.
export function stateOf(job) {
  const ahead = job.nextStep - job.durableSteps;
  if (job.drained) {
    return { name: "Drained", mark: "done", about: "all streams have ended and every "
      + "document went into a step" };
  }
  if (ahead > 0 && ahead >= job.spec.maxStepsAhead) {
    return { name: "Held back", mark: "warning", about: `${ahead} steps are not durable on `
      + "every rank, as many as may be: it waits for its ranks" };
  }
  if (job.nextStep === 0) {
    return { name: "No step yet", mark: "idle", about: "it waits for documents" };
  }
  if (job.streams.length && job.streams.every((stream) => stream.ended)) {
    return { name: "Ending", mark: "running", about: "all streams have ended" };
  }
  return { name: "Running", mark: "running", about: "it takes documents and decides steps" };
}

// How much longer plain packing would take than the job, from weighted imbalances: the
// ratio of the slowest micro-batches at the same mean. undefined where not known.
export function gain(totals) {
  const { weightedImbalance: job, originalWeightedImbalance: plain } = totals;
  return job > 0 && plain > 0 ? plain / job : undefined;
}
