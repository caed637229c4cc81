// A rank's steps with all that executing them needs, made ahead of the trainer.
#ifndef EVENPACK_GPU_WORKER_RANK_WORKER_PREPARED_STEPS_H_
#define EVENPACK_GPU_WORKER_RANK_WORKER_PREPARED_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/consumer.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

struct PreparedStep {
  client::RankStep step;
  // One for each of step.micro_batches(), as this CP rank executes it.
  std::vector<PreparedMicroBatch> micro_batches;
};

// Of which group the steps are for, and how its attention is computed.
struct PreparedFor {
  uint32_t cp_rank = 0;
  // Ranks of the group.
  uint32_t cp_size = 1;
  // Has passed Check.
  AttentionShape shape;
  // The engine's.
  KeyPlacement placement = KeyPlacement::kWhereTheyAre;
};

// FAILED_PRECONDITION: the step is for a group of another size.
absl::StatusOr<PreparedStep> PrepareStep(client::RankStep step, const PreparedFor& of);

// A thread of its own takes steps from the consumer. One thread at a time in Next.
class PreparedSteps {
 public:
  // `consumer` must outlive it. At most `ahead` steps wait prepared; at least 1.
  PreparedSteps(client::Consumer& consumer, const PreparedFor& of, size_t ahead);
  // Cancels the consumer.
  ~PreparedSteps();
  PreparedSteps(const PreparedSteps&) = delete;
  PreparedSteps& operator=(const PreparedSteps&) = delete;

  // Blocks until there is a step; none where the job is drained. Errors, which are
  // final, as Consumer::Next and PrepareStep: after the steps before them, but ABORTED
  // and CANCELLED at once, and steps that wait here are dropped.
  absl::StatusOr<std::optional<PreparedStep>> Next();

  // Cancels the consumer: Next returns CANCELLED, now and later. From any thread.
  void Cancel();

  // Steps that wait, now. From any thread.
  uint64_t waiting() const;

 private:
  using Entry = absl::StatusOr<std::optional<PreparedStep>>;

  void Run();
  Entry TakeOne();
  // False where nothing more is to be made.
  bool Add(Entry entry);
  // Nothing comes but this.
  void End(const absl::Status& why) EVENPACK_REQUIRES(mutex_);

  client::Consumer& consumer_;
  const PreparedFor of_;
  const size_t ahead_;

  mutable Mutex mutex_;
  CondVar changed_;
  // The last one stays: the end, or an error.
  std::deque<Entry> entries_ EVENPACK_GUARDED_BY(mutex_);
  bool ended_ EVENPACK_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RANK_WORKER_PREPARED_STEPS_H_
