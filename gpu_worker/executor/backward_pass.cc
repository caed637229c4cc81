#include "gpu_worker/executor/backward_pass.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace evenpack::worker {

BackwardPass::BackwardPass(const PreparedMicroBatch& prepared,
                           const AttentionInput& input, const AttentionOutput& forward,
                           const void* output_gradient,
                           const AttentionGradients& result, Communicator& communicator,
                           AttentionEngine& engine)
    : prepared_(prepared),
      input_(input),
      forward_(forward),
      output_gradient_(output_gradient),
      result_(result),
      communicator_(communicator),
      engine_(engine),
      own_(prepared.layout.own_rows, prepared.shape.kv_row()) {}

absl::Status BackwardPass::Run(uint32_t head_groups) {
  const AttentionShape& shape = prepared_.shape;
  const std::vector<HeadRange> groups = HeadGroups(shape, head_groups);
  const auto receive = [&](size_t group) {
    return std::make_unique<ReceivedKv>(prepared_, groups[group], input_,
                                        communicator_);
  };
  if (prepared_.layout.exchanges) next_ = receive(0);
  ClearPaddingOfResult();
  GradientSums none(0, shape.kv_row());
  absl::Status status =
      Compute(LocalCall(prepared_, input_), HeadView(shape, {0, shape.kv_heads}), none);
  for (size_t g = 0; next_ != nullptr && status.ok(); ++g) {
    const std::unique_ptr<ReceivedKv> received = std::move(next_);
    if (g + 1 < groups.size()) next_ = receive(g + 1);
    status = ComputeReceived(*received);
  }
  if (status.ok() && returning_ != nullptr) status = returning_->AddTo(own_);
  if (!status.ok()) return status;
  Store(shape.type, own_.key().data(), own_.key().size(), result_.key);
  Store(shape.type, own_.value().data(), own_.value().size(), result_.value);
  return absl::OkStatus();
}

absl::Status BackwardPass::ComputeReceived(ReceivedKv& received) {
  if (absl::Status status = received.Wait(); !status.ok()) return status;
  auto gradients = std::make_unique<ReturnedGradients>(prepared_, received.heads());
  if (absl::Status status = Compute(received.CallFor(prepared_.remote_tasks, input_),
                                    received.heads(), gradients->sums());
      !status.ok()) {
    return status;
  }
  gradients->Start(communicator_);
  absl::Status status;
  if (returning_ != nullptr) status = returning_->AddTo(own_);
  returning_ = std::move(gradients);
  return status;
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

void BackwardPass::ClearPaddingOfResult() {
  const AttentionShape& shape = prepared_.shape;
  const size_t element = BytesOf(shape.type);
  ClearPadding(prepared_, result_.query, shape.query_row() * element);
  ClearPadding(prepared_, result_.key, shape.kv_row() * element);
  ClearPadding(prepared_, result_.value, shape.kv_row() * element);
}

}  // namespace evenpack::worker
