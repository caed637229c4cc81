// What has been decided. The journal of a job is its events in order; applying them to
// an empty state gives the job's state, on any machine and with any later version of
// the policies, since an event says what was packed and not how.
#ifndef EVENPACK_SERVER_CORE_ENGINE_EVENT_H_
#define EVENPACK_SERVER_CORE_ENGINE_EVENT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/merge.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/outlier/mean_delay.h"

namespace evenpack {

struct JobCreated {
  JobSpec spec;
  uint64_t lineage = 0;
};

// Documents of a stream that no further step is to have.
struct SkippedRange {
  uint32_t stream = 0;
  SequenceRange sequences;

  friend bool operator==(const SkippedRange&, const SkippedRange&) = default;
};

// Steps from `from_step` on are withdrawn, and formed anew under `spec` and without
// what is skipped.
struct JobUpdated {
  uint64_t from_step = 0;
  JobSpec spec;
  std::vector<SkippedRange> skipped;
  // False where no step is withdrawn and of the spec at most the costs change, so that
  // ranks need not know. What waits stays as it is then.
  bool new_epoch = true;
};

// Empty where everything sent had been accepted before.
struct DocumentsAccepted {
  uint32_t stream = 0;
  std::vector<Document> documents;
};

struct StreamEnded {
  uint32_t stream = 0;
};

struct StepDecided {
  Step step;
  // The step was packed with an earlier one of its window and only comes out now; all
  // that follows is empty then.
  bool from_plan = false;
  // Per stream, how many buffered documents were admitted.
  std::vector<uint64_t> admitted;
  // The merge after the admission.
  MergeCursor merge;
  // Global batches admitted up to and including this step.
  uint64_t batches_admitted = 0;
  // Per delay queue: the documents that entered it, then how many left its front.
  std::vector<std::vector<Document>> entered;
  std::vector<uint64_t> released;
  // The list of left-overs: which positions of it, rising, are no longer in it, and
  // what is appended behind the others.
  std::vector<uint64_t> left_over_taken;
  std::vector<Document> left_over_added;
  // The window's later steps.
  std::vector<Step> planned;
  // kBalanced: the sketch, the mean delay and the novelty after the admission, and how
  // much was tried (levels, and operations of the local search).
  LengthSketch sketch;
  uint64_t mean_delay = kMeanDelayAtFirst;
  uint64_t novelty = 0;
  uint64_t search_operations = 0;
};

// Steps [0, steps) are durable at the rank.
struct DurableMarked {
  uint32_t data_parallel_rank = 0;
  uint64_t steps = 0;
};

// The job is as EncodeState wrote it, whatever it was before.
struct JobRestored {
  std::string state;
};

using Event = std::variant<JobCreated, JobUpdated, DocumentsAccepted, StreamEnded,
                           StepDecided, DurableMarked, JobRestored>;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_EVENT_H_
