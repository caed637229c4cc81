#include "gpu_worker/executor/backward_pass.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace evenpack::worker {

BackwardPass::BackwardPass(const PreparedMicroBatch& prepared,
                           const AttentionInput& input, const AttentionOutput& forward,
                           const void* output_gradient,
                           const AttentionGradients& result, Communicator& communicator,
                           AttentionEngine& engine, Device& device)
    : prepared_(prepared),
      input_(input),
      forward_(forward),
      output_gradient_(output_gradient),
      result_(result),
      communicator_(communicator),
      engine_(engine),
      device_(device) {}

absl::Status BackwardPass::Run(uint32_t head_groups) {
  const AttentionShape& shape = prepared_.shape;
  const std::vector<HeadRange> groups = HeadGroups(shape, head_groups);
  const auto receive = [&](size_t group) {
    return std::make_unique<ReceivedKv>(prepared_, groups[group], input_, communicator_,
                                        device_);
  };
  if (prepared_.has_received_rows()) next_ = receive(0);
  absl::Status status = Prepare();
  const std::span<const AttentionTask> local = prepared_.local_tasks;
  if (status.ok()) status = ComputeLocal(local.first(prepared_.local_tasks_before));
  for (size_t g = 0; next_ != nullptr && status.ok(); ++g) {
    const std::unique_ptr<ReceivedKv> received = std::move(next_);
    if (g + 1 < groups.size()) next_ = receive(g + 1);
    status = ComputeReceived(*received);
    if (status.ok() && next_ != nullptr) status = AddReturned(1);
  }
  if (status.ok()) status = ComputeLocal(local.subspan(prepared_.local_tasks_before));
  if (status.ok()) status = AddReturned(0);
  return status.ok() ? StoreResult() : status;
}

absl::Status BackwardPass::Prepare() {
  absl::StatusOr<GradientSums> own =
      GradientSums::Zero(device_, prepared_.layout.own_rows, prepared_.shape.kv_row());
  if (!own.ok()) return own.status();
  own_ = *std::move(own);
  return ClearPaddingOfResult();
}

absl::Status BackwardPass::ComputeReceived(ReceivedKv& received) {
  if (absl::Status status = received.Wait(); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<ReturnedGradients>> gradients =
      ReturnedGradients::Make(prepared_, received.heads(), device_);
  if (!gradients.ok()) return gradients.status();
  absl::Status status = Compute(received.CallFor(prepared_.remote_tasks, input_),
                                received.heads(), (*gradients)->sums());
  if (status.ok()) status = (*gradients)->Start(communicator_);
  returning_.push_back(*std::move(gradients));
  return status;
}

absl::Status BackwardPass::AddReturned(size_t left) {
  while (returning_.size() > left) {
    if (absl::Status status = returning_.front()->AddTo(own_); !status.ok()) {
      return status;
    }
    returning_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::ComputeLocal(std::span<const AttentionTask> tasks) {
  GradientSums none;
  return Compute(LocalCall(prepared_, tasks, input_),
                 HeadView(prepared_.shape, {0, prepared_.shape.kv_heads}), none);
}

absl::Status BackwardPass::Compute(const AttentionCall& call, const HeadView& heads,
                                   GradientSums& others) {
  if (call.tasks.empty()) return absl::OkStatus();
  const void* const output = forward_.output;
  return engine_.Backward(
      call,
      {heads.Queries(output), heads.LogSumExp(forward_.log_sum_exp),
       heads.Queries(output_gradient_)},
      {heads.Queries(result_.query), own_.Keys(heads.kv_column()),
       own_.Values(heads.kv_column()), others.Keys(0), others.Values(0)});
}

absl::Status BackwardPass::ClearPaddingOfResult() {
  const AttentionShape& shape = prepared_.shape;
  const size_t query_row = shape.query_row() * BytesOf(shape.type);
  const size_t kv_row = shape.kv_row() * BytesOf(shape.type);
  absl::Status status = ClearPadding(prepared_, device_, result_.query, query_row);
  if (status.ok()) status = ClearPadding(prepared_, device_, result_.key, kv_row);
  if (status.ok()) status = ClearPadding(prepared_, device_, result_.value, kv_row);
  return status;
}

absl::Status BackwardPass::StoreResult() {
  const ElementType type = prepared_.shape.type;
  absl::Status status = device_.Convert(type, own_.key(), own_.size(), result_.key);
  if (!status.ok()) return status;
  return device_.Convert(type, own_.value(), own_.size(), result_.value);
}

}  // namespace evenpack::worker
