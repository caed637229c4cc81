// What the part of the address after '#' shows:
//   #/                                          the jobs
//   #/jobs/NAME                                 a job
//   #/jobs/NAME/steps/K/micro-batches/I         and one of its micro-batches

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function whole(text) {
  return /^\d{1,15}$/.test(text ?? "") ? Number(text) : undefined;
}

// { job, step, microBatch }, each undefined where the address has none that is valid.
export function parseRoute(hash) {
  const parts = hash.replace(/^#?\/?/, "").split("/");
  const job = parts[0] === "jobs" && parts[1] ? decoded(parts[1]) : undefined;
  if (job === undefined) return {};
  const step = parts[2] === "steps" ? whole(parts[3]) : undefined;
  const microBatch = parts[4] === "micro-batches" ? whole(parts[5]) : undefined;
  return step === undefined || microBatch === undefined ? { job } : { job, step, microBatch };
}

export function formatRoute({ job, step, microBatch } = {}) {
  if (job === undefined) return "#/";
  const path = `#/jobs/${encodeURIComponent(job)}`;
  if (step === undefined || microBatch === undefined) return path;
  return `${path}/steps/${step}/micro-batches/${microBatch}`;
}
