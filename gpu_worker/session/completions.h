// When submissions are complete.
#ifndef EVENPACK_GPU_WORKER_SESSION_COMPLETIONS_H_
#define EVENPACK_GPU_WORKER_SESSION_COMPLETIONS_H_

#include "absl/status/status.h"
#include "gpu_worker/arena/submission_reader.h"

namespace evenpack::worker {

// Of submissions in the order in which they were taken. One thread.
class Completions {
 public:
  virtual ~Completions() = default;
  // The next of them was executed, with this result; on a device it has been given the
  // work.
  virtual void Add(absl::Status result) = 0;
  // Returns once all are complete.
  virtual void Finish() = 0;
};

// What was executed is done.
class HostCompletions final : public Completions {
 public:
  // `reader` must outlive it.
  explicit HostCompletions(SubmissionReader& reader) : reader_(reader) {}

  void Add(absl::Status result) override { reader_.Complete(result); }
  void Finish() override {}

 private:
  SubmissionReader& reader_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SESSION_COMPLETIONS_H_
