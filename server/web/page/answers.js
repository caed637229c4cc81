// The API's answers as plain values. Protobuf's JSON has 64-bit integers as text and may
// leave out what is 0, empty or false; here every field is there, and a number is a
// number. Document numbers and ids stay text, since they may go beyond 2^53.

const KINDS = {
  STEP_KIND_FULL_BATCH: "full batch",
  STEP_KIND_BACKLOG: "backlog",
  STEP_KIND_DRAIN: "drain",
};

const POLICIES = {
  original: "original",
  fixedGreedy: "fixed_greedy",
  wlb: "wlb",
  balanced: "balanced",
};

function number(value) {
  return value === undefined || value === null ? 0 : Number(value);
}

function numbers(values) {
  return (values ?? []).map(number);
}

function lowerCase(name, prefix) {
  return String(name ?? "").replace(prefix, "").toLowerCase();
}

// A column of `length` entries; one that was left out is all `missing`.
function column(values, length, missing = 0) {
  const given = numbers(values);
  return given.length === length ? given : Array(length).fill(missing);
}

export function readStream(json) {
  return {
    name: json.name ?? "",
    accepted: number(json.nextSequence),
    ended: json.ended ?? false,
    bufferedDocuments: number(json.bufferedDocuments),
    bufferedTokens: number(json.bufferedTokens),
    skippedDocuments: (json.skipped ?? [])
      .reduce((sum, range) => sum + number(range.documents), 0),
  };
}

function readSpec(json = {}) {
  const shape = json.parallelism ?? {};
  const policy = Object.keys(POLICIES).find((name) => json.policy?.[name] !== undefined);
  return {
    policy: POLICIES[policy] ?? "balanced",
    data: number(shape.data) || 1,
    microBatchesPerRank: number(shape.microBatchesPerRank) || 1,
    context: number(shape.context) || 1,
    tensor: number(shape.tensor) || 1,
    pipeline: number(shape.pipeline) || 1,
    window: number(json.window),
    maxLength: number(json.maxLength) || number(json.window),
    sharding: lowerCase(json.sharding, "SHARDING_"),
    layout: lowerCase(json.consumerLayout?.layout, "LAYOUT_") || "native",
    maxStepsAhead: number(json.retention?.maxStepsAhead) || 1024,
  };
}

export function readJob(json = {}) {
  return {
    name: json.name ?? "",
    spec: readSpec(json.spec),
    // To be compared.
    specText: JSON.stringify(json.spec ?? {}),
    epoch: number(json.epoch),
    nextStep: number(json.nextStep),
    durableSteps: number(json.durableSteps),
    oldestStep: number(json.oldestStep),
    digest: json.digest ?? "",
    streams: (json.streams ?? []).map(readStream),
    waitingDocuments: number(json.waitingDocuments),
    waitingTokens: number(json.waitingTokens),
    drained: json.drained ?? false,
    subscribers: number(json.subscribers),
  };
}

// `now`: milliseconds at which the answer came.
export function readStep(json, now) {
  const workload = numbers(json.workloadNs);
  return {
    index: number(json.index),
    epoch: number(json.epoch),
    previousDigest: json.previousDigest ?? "",
    kind: KINDS[json.kind] ?? "",
    decidedAt: now - number(json.ageSeconds) * 1000,
    workload,
    tokens: column(json.tokens, workload.length),
    padding: column(json.padding, workload.length),
    originalWorkload: numbers(json.originalWorkloadNs),
    originalTokens: numbers(json.originalTokens),
    imbalance: number(json.imbalance),
    originalImbalance: number(json.originalImbalance),
    longDocumentTokens: number(json.longDocumentTokens),
    documents: number(json.documents),
    queueDocuments: numbers(json.queueDocuments),
    queueTokens: numbers(json.queueTokens),
    leftOverDocuments: number(json.leftOverDocuments),
    leftOverTokens: number(json.leftOverTokens),
  };
}

export function readTotals(json = {}) {
  return {
    fullSteps: number(json.fullSteps),
    originalFullSteps: number(json.originalFullSteps),
    weightedImbalance: number(json.weightedImbalance),
    originalWeightedImbalance: number(json.originalWeightedImbalance),
    documents: number(json.documents),
    tokens: number(json.tokens),
    meanStepTokens: number(json.meanStepTokens),
    stepTokensCv: number(json.stepTokensCv),
    delayBounds: numbers(json.delayBounds),
    delayDocuments: numbers(json.delayDocuments),
    stepWaitSeconds: number(json.stepWaitSeconds),
    stepsTaken: number(json.stepsTaken),
  };
}

function readQueue(json) {
  return {
    threshold: number(json.threshold),
    documents: number(json.documents),
    tokens: number(json.tokens),
    oldestBatches: number(json.oldestBatches),
  };
}

function readSubscriber(json) {
  return {
    dpRank: number(json.dpRank),
    // undefined: the subscription is of all CP ranks.
    cpRank: json.cpRank === undefined || json.cpRank === null ? undefined : Number(json.cpRank),
    name: json.subscriber ?? "",
    sendsDurable: json.sendsDurable ?? false,
    nextStep: number(json.nextStep),
    receivedSteps: number(json.receivedSteps),
    lagSteps: number(json.lagSteps),
    unusedCredits: number(json.unusedCredits),
  };
}

export function readJobs(json) {
  return {
    jobs: (json.jobs ?? []).map(readJob),
    nextPageToken: json.nextPageToken ?? "",
  };
}

export function readObservation(json, now) {
  return {
    job: readJob(json.job),
    steps: (json.steps ?? []).map((step) => readStep(step, now)),
    totals: readTotals(json.totals),
    queues: (json.queues ?? []).map(readQueue),
    subscribers: (json.subscribers ?? []).map(readSubscriber),
    producers: number(json.producers),
  };
}

function readDocuments(json = {}) {
  const lengths = numbers(json.length);
  const offsets = column(json.offset, lengths.length);
  const streams = column(json.stream, lengths.length);
  const wholes = json.documentLength?.length ? numbers(json.documentLength) : lengths;
  return lengths.map((length, i) => ({
    length,
    offset: offsets[i],
    documentLength: wholes[i],
    stream: streams[i],
    sequence: String(json.sequence?.[i] ?? 0),
    id: json.id?.[i] === undefined ? undefined : String(json.id[i]),
  }));
}

function readRank(json, position) {
  const begin = numbers(json.begin);
  const end = numbers(json.end);
  const document = numbers(json.document);
  return {
    rank: number(json.cpRank) || position,
    tokens: number(json.tokens),
    padding: number(json.padding),
    slices: begin.map((first, i) => ({ document: document[i], begin: first, end: end[i] })),
  };
}

export function readMicroBatch(json) {
  const microBatch = json.microBatch ?? {};
  const ranks = (json.ranks ?? []).map(readRank);
  return {
    index: number(microBatch.index),
    tokens: number(microBatch.tokens),
    padding: number(microBatch.padding),
    workload: number(microBatch.workloadNs),
    sharding: lowerCase(microBatch.plan?.sharding, "SHARDING_"),
    documents: readDocuments(microBatch.documents),
    ranks,
    attendedPairs: column(json.attendedPairs, ranks.length),
  };
}
