// Keys and values that other ranks own and this rank's queries see, of some heads.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/executor/exchange_form.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// On its way from its making on, unless nothing travels. What it is made of must
// outlive it.
class ReceivedKv {
 public:
  // `use`: keys of a forward or of a backward pass.
  ReceivedKv(const PreparedMicroBatch& prepared, const HeadRange& heads,
             ExchangeUse use, const AttentionInput& input, Communicator& communicator,
             Device& device);

  const HeadView& heads() const { return heads_; }
  // Before anything is computed with it. Errors of the exchange, and of the device,
  // without whose memory nothing was begun.
  absl::Status Wait() { return transfer_ == nullptr ? status_ : transfer_->Wait(); }
  // Tasks that see these keys and the rank's own.
  AttentionCall CallFor(const std::vector<AttentionTask>& tasks,
                        const AttentionInput& input) const;

 private:
  // OK where the exchange was begun, or there is none.
  absl::Status Start(const PreparedMicroBatch& prepared, ExchangeUse use,
                     const AttentionInput& input, Communicator& communicator,
                     Device& device);

  const HeadView heads_;
  std::unique_ptr<DeviceMemory> key_;
  std::unique_ptr<DeviceMemory> value_;
  std::unique_ptr<Transfer> transfer_;  // goes before those, since it writes them
  absl::Status status_;
};

// Tasks that see the rank's own keys alone.
AttentionCall LocalCall(const HeadView& heads, std::span<const AttentionTask> tasks,
                        const AttentionInput& input);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_RECEIVED_KV_H_
