// Keys and values that other ranks own and this rank's queries see, of some heads.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// On its way from its making on. What it is made of must outlive it.
class ReceivedKv {
 public:
  ReceivedKv(const PreparedMicroBatch& prepared, const HeadRange& heads,
             const AttentionInput& input, Communicator& communicator);

  const HeadView& heads() const { return heads_; }
  // Before anything is computed with it.
  absl::Status Wait() { return transfer_->Wait(); }
  // Tasks that see these keys and the rank's own.
  AttentionCall CallFor(const std::vector<AttentionTask>& tasks,
                        const AttentionInput& input) const;

 private:
  const HeadView heads_;
  std::unique_ptr<char[]> key_;
  std::unique_ptr<char[]> value_;
  std::unique_ptr<Transfer> transfer_;  // last, since it writes the others
};

// Tasks that see the rank's own keys alone, all heads.
AttentionCall LocalCall(const PreparedMicroBatch& prepared,
                        const AttentionInput& input);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_
