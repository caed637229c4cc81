#include "gpu_worker/executor/backward_pass.h"

#include <utility>

#include "gpu_worker/device/column_sums.h"

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
  const bool others = prepared_.has_received_rows();
  const std::vector<HeadRange> groups = HeadGroups(shape, others ? head_groups : 1);
  const auto receive = [&](size_t group) {
    return std::make_unique<ReceivedKv>(prepared_, groups[group],
                                        ExchangeUse::kKeysBackward, input_,
                                        communicator_, device_);
  };
  if (others) next_ = receive(0);
  const LocalWork local = Divided(groups);
  absl::Status status = Prepare();
  if (status.ok()) status = ComputeLocal(local.before);
  for (size_t g = 0; next_ != nullptr && status.ok(); ++g) {
    const std::unique_ptr<ReceivedKv> received = std::move(next_);
    if (g + 1 < groups.size()) next_ = receive(g + 1);
    status = ComputeReceived(*received);
    if (status.ok() && next_ != nullptr) status = StoreReturned(1);
  }
  if (status.ok()) status = ComputeLocal(local.after);
  if (status.ok() && !others) return Store(HeadView(shape, groups[0]), {});
  return status.ok() ? StoreReturned(0) : status;
}

BackwardPass::LocalWork BackwardPass::Divided(
    const std::vector<HeadRange>& groups) const {
  const std::span<const AttentionTask> tasks = prepared_.local_tasks;
  const HeadRange& last = groups.back();
  if (groups.size() > 1) return {{{0, last.begin}, tasks}, {last, tasks}};
  return {{last, tasks.first(prepared_.local_tasks_before)},
          {last, tasks.subspan(prepared_.local_tasks_before)}};
}

absl::Status BackwardPass::Prepare() {
  if (!engine_.leaves_key_gradients()) {
    absl::StatusOr<GradientSums> own = GradientSums::Zero(
        device_, prepared_.layout.own_rows, prepared_.shape.kv_row());
    if (!own.ok()) return own.status();
    own_ = *std::move(own);
  }
  return ClearPaddingOfResult();
}

absl::Status BackwardPass::ComputeLocal(const Local& local) {
  if (local.tasks.empty()) return absl::OkStatus();
  const HeadView heads(prepared_.shape, local.heads);
  const AttentionCall call = LocalCall(heads, local.tasks, input_);
  BackwardResult result;
  if (engine_.leaves_key_gradients()) {
    left_.push_back({local.heads, {}});
    result.key_gradients = &left_.back().gradients;
  }
  return Compute(call, heads, result);
}

absl::Status BackwardPass::ComputeReceived(ReceivedKv& received) {
  if (absl::Status status = received.Wait(); !status.ok()) return status;
  const HeadView& heads = received.heads();
  absl::StatusOr<std::unique_ptr<ReturnedGradients>> made =
      ReturnedGradients::Make(prepared_, heads, device_);
  if (!made.ok()) return made.status();
  ReturnedGradients& gradients = **made;
  returning_.push_back(*std::move(made));
  absl::Status status;
  if (!prepared_.remote_tasks.empty()) {
    const AttentionCall call = received.CallFor(prepared_.remote_tasks, input_);
    status = ComputeFor(call, heads, gradients);
  }
  return status.ok() ? gradients.Start(communicator_) : status;
}

absl::Status BackwardPass::ComputeFor(const AttentionCall& call, const HeadView& heads,
                                      ReturnedGradients& gradients) {
  BackwardResult result;
  if (engine_.leaves_key_gradients()) {
    std::vector<KeyGradients> left;
    result.key_gradients = &left;
    absl::Status status = Compute(call, heads, result);
    return status.ok() ? gradients.SumOf(left) : status;
  }
  const absl::StatusOr<GradientSums*> sums = gradients.Zeroed();
  if (!sums.ok()) return sums.status();
  result.received_key_gradient = (*sums)->Keys(0);
  result.received_value_gradient = (*sums)->Values(0);
  return Compute(call, heads, result);
}

absl::Status BackwardPass::Compute(const AttentionCall& call, const HeadView& heads,
                                   BackwardResult result) {
  const void* const output = forward_.output;
  result.query_gradient = heads.Queries(result_.query);
  if (result.key_gradients == nullptr) {
    result.own_key_gradient = own_.Keys(heads.kv_column());
    result.own_value_gradient = own_.Values(heads.kv_column());
  }
  return engine_.Backward(call,
                          {heads.Queries(output), heads.LogSumExp(forward_.log_sum_exp),
                           heads.Queries(output_gradient_)},
                          result);
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

absl::Status BackwardPass::StoreReturned(size_t left) {
  while (returning_.size() > left) {
    ReturnedGradients& returned = *returning_.front();
    std::vector<RowTerm> terms;
    absl::Status status = returned.AppendTo(terms);
    if (status.ok()) status = Store(returned.heads(), terms);
    if (!status.ok()) return status;
    returning_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::Store(const HeadView& heads,
                                 std::span<const RowTerm> returned) {
  const AttentionShape& shape = prepared_.shape;
  const size_t column = heads.kv_column();
  const RowMove all = {0, 0, prepared_.layout.own_rows};
  std::vector<ColumnTerm> terms;
  if (!engine_.leaves_key_gradients() && all.count > 0) {
    terms.push_back({own_.Term({&all, 1}, column), 0, heads.kv_row()});
  }
  for (const Left& of : left_) {
    const size_t first = size_t{of.heads.begin} * shape.head_size;
    const size_t end = first + size_t{of.heads.count} * shape.head_size;
    if (column >= first && column < end) {
      AppendTerms(of.gradients, column - first, heads.kv_row(), terms);
    }
  }
  for (const RowTerm& term : returned) terms.push_back({term, 0, heads.kv_row()});
  const size_t element = BytesOf(shape.type);
  return SumColumns(terms,
                    {shape.type,
                     {BytesAfter(result_.key, column * element),
                      BytesAfter(result_.value, column * element)},
                     shape.kv_row() * element,
                     heads.kv_row(),
                     prepared_.layout.own_rows},
                    device_);
}

}  // namespace evenpack::worker
