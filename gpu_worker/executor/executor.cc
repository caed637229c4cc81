#include "gpu_worker/executor/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/backward_pass.h"
#include "gpu_worker/executor/forward_pass.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {

uint32_t ExecutorOptions::HeadGroupsOf(const PreparedMicroBatch& prepared) const {
  if (least_group_bytes == 0) return head_groups;
  const AttentionShape& shape = prepared.shape;
  const uint64_t bytes = 2 * prepared.cut_tokens * shape.kv_row() * BytesOf(shape.type);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(bytes / least_group_bytes, 1, head_groups));
}

Executor::Executor(Communicator& communicator, AttentionEngine& engine,
                   const ExecutorOptions& options)
    : communicator_(communicator),
      options_(options),
      timed_communicator_(communicator, timer_),
      timed_engine_(engine, timer_) {}

absl::StatusOr<PreparedMicroBatch> Executor::Prepare(
    const ShardPlan& plan, const AttentionShape& shape) const {
  if (absl::Status status = Check(shape); !status.ok()) return status;
  if (plan.context_parallel != communicator_.size()) {
    return InvalidField("plan.context_parallel", plan.context_parallel,
                        absl::StrCat("the group's ranks, ", communicator_.size()));
  }
  return PrepareMicroBatch(plan, communicator_.rank(), shape,
                           timed_engine_.key_placement());
}

template <typename Pass>
absl::Status Executor::Run(Pass& pass, const PreparedMicroBatch& prepared) {
  timer_ = PassTimer::Begin(options_.Where(), *options_.clock);
  absl::Status status = pass.Run(options_.HeadGroupsOf(prepared));
  timer_->End();
  return AbortUnlessOk(std::move(status));
}

absl::Status Executor::Forward(const PreparedMicroBatch& prepared,
                               const AttentionInput& input,
                               const AttentionOutput& result) {
  ForwardPass pass(prepared, input, result, timed_communicator_, timed_engine_,
                   options_.Where());
  return Run(pass, prepared);
}

absl::Status Executor::Backward(const PreparedMicroBatch& prepared,
                                const AttentionInput& input,
                                const AttentionOutput& forward,
                                const void* output_gradient,
                                const AttentionGradients& result) {
  BackwardPass pass(prepared, input, forward, output_gradient, result,
                    timed_communicator_, timed_engine_, options_.Where());
  return Run(pass, prepared);
}

absl::Status Executor::AbortUnlessOk(absl::Status status) {
  if (!status.ok()) {
    communicator_.Abort(absl::AbortedError(
        absl::StrCat("cp_rank ", communicator_.rank(), " failed: ", status.message())));
  }
  return status;
}

}  // namespace evenpack::worker
