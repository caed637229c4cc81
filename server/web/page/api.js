// The server's JSON.

import { keptToken } from "./token.js";

// No answer within this many milliseconds counts as none.
const TIMEOUT = 8000;

// An answer that says no. `status` is HTTP's, 0 where there was no answer.
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  // A token is needed, or another one.
  get asksForToken() {
    return this.status === 401 || this.isDenial;
  }

  // Whoever asks is known, and may not see it.
  get isDenial() {
    return this.status === 403;
  }

  // The same question may be answered later; it isn't where there is no such thing, or it
  // is too large.
  get isPassing() {
    return ![400, 404, 429].includes(this.status);
  }

  // There was no answer at all.
  get isSilence() {
    return this.status === 0;
  }

  get isAbsence() {
    return this.status === 404;
  }
}

async function refusal(response) {
  try {
    const { message } = await response.json();
    if (message) return new ApiError(response.status, String(message));
  } catch {
    // It wasn't this server's JSON: the status says it all.
  }
  return new ApiError(response.status, `the server answered ${response.status}`);
}

function combined(signal) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

// `path` is relative to the page, so that a proxy may serve both below any path.
async function get(path, query, signal) {
  const url = new URL(path, document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  let response;
  try {
    const token = keptToken();
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    response = await fetch(url, { headers, signal: combined(signal), cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    const late = error.name === "TimeoutError";
    throw new ApiError(0, late ? "the server did not answer in time" : "no connection");
  }
  if (!response.ok) throw await refusal(response);
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "the answer broke off");
  }
}

function jobPath(name) {
  return `api/v1/jobs/${encodeURIComponent(name)}`;
}

export function listJobs({ pageSize, pageToken } = {}, signal) {
  return get("api/v1/jobs", { page_size: pageSize, page_token: pageToken }, signal);
}

export function observeJob(name, { steps, fromStep }, signal) {
  return get(jobPath(name), { steps, from_step: fromStep }, signal);
}

export function observeMicroBatch(name, step, microBatch, signal) {
  return get(`${jobPath(name)}/steps/${step}/micro-batches/${microBatch}`, {}, signal);
}
