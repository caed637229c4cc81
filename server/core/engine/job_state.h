// All that is known of a job: a pure function of its events in order.
#ifndef EVENPACK_SERVER_CORE_ENGINE_JOB_STATE_H_
#define EVENPACK_SERVER_CORE_ENGINE_JOB_STATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "server/core/digest/digest.h"
#include "server/core/document/document_fifo.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/merge.h"
#include "server/core/engine/resend_window.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/core/engine/waiting.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/outlier/mean_delay.h"

namespace evenpack {

struct StreamState {
  // Accepted and not yet admitted, without what is skipped.
  DocumentFifo buffer;
  // Sequence number of the next document, which is how many were accepted.
  uint64_t next_sequence = 0;
  bool ended = false;
  ResendWindow resends;
  // What no further step is to have: accepted and dropped, when it comes.
  SequenceRanges skipped;

  friend bool operator==(const StreamState&, const StreamState&) = default;
};

// The part of a job's state that a step changes as a whole.
struct Position {
  // Index of the next step to be decided.
  uint64_t next_step = 0;
  uint64_t batches_admitted = 0;
  uint64_t documents_admitted = 0;
  // Digest of the last decided step.
  Digest128 digest = GenesisDigest();
  MergeCursor merge;
  // kBalanced: the documents admitted under it, how long they wait on average
  // (server/core/outlier/mean_delay.h), and how new their lengths are (novelty.h).
  // Empty, and as at first, otherwise.
  LengthSketch sketch;
  uint64_t mean_delay = kMeanDelayAtFirst;
  uint64_t novelty = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

// A decided step, with what is needed to withdraw it.
struct StepRecord {
  Step step;
  bool from_plan = false;
  Position before;
  // Per stream, as they were in its buffer.
  std::vector<std::vector<Document>> admitted;
  // Per queue: how many entered its back, and what left its front.
  std::vector<uint64_t> entered;
  std::vector<std::vector<Document>> released;
  // Positions that were taken out of the list of left-overs, what was there, and how
  // many documents were appended then.
  std::vector<uint64_t> left_over_positions;
  std::vector<Document> left_over_taken;
  uint64_t left_over_added = 0;

  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

// A reconfiguration or a skip before step `from_step`, with what is needed to withdraw
// it.
struct UpdateRecord {
  uint64_t from_step = 0;
  JobSpec spec_before;
  Waiting waiting_before;

  friend bool operator==(const UpdateRecord&, const UpdateRecord&) = default;
};

using HistoryRecord = std::variant<StepRecord, UpdateRecord>;

struct JobState {
  // False before JobCreated; nothing else means anything then.
  bool created = false;
  JobSpec spec;
  uint64_t epoch = 0;
  std::vector<StreamState> streams;
  Waiting waiting;
  Position position;

  // Per DP rank, how many steps from the first are durable.
  std::vector<uint64_t> durable;
  // The last values of DurableSteps(), rising, at most spec.retain_checkpoints of them;
  // the first is the start of the job. Ranks that mark the same steps, as those of one
  // training run do, hold a checkpoint at each.
  std::deque<uint64_t> checkpoints;
  // From the oldest checkpoint on.
  std::deque<HistoryRecord> history;

  // Drawn when the job was created; forks and what is restored from its checkpoints
  // have it too, and no other job. 0 where it was created by a version that drew none.
  uint64_t lineage = 0;

  friend bool operator==(const JobState&, const JobState&) = default;
};

// Steps that every DP rank has made durable.
uint64_t DurableSteps(const JobState& state);
// A decided step that was not let go; null for any other. Valid until the state
// changes.
const Step* FindStep(const JobState& state, uint64_t index);
// True once all streams have ended and every document was emitted.
bool IsDrained(const JobState& state);
// The merge over the buffers as they are. Valid until the state changes.
MergeReader ReadMerge(const JobState& state);
// Lengths of the next `count` documents of that merge; fewer where it waits before.
std::vector<uint32_t> NextLengths(const JobState& state, uint64_t count);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_JOB_STATE_H_
