#include "gpu_worker/executor/forward_pass.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace evenpack::worker {

absl::Status ForwardPass::Run(uint32_t head_groups) {
  const AttentionShape& shape = prepared_.shape;
  absl::Status status = ClearPadding(prepared_, device_, result_.output,
                                     shape.query_row() * BytesOf(shape.type));
  if (status.ok()) {
    status = ClearPadding(prepared_, device_, result_.log_sum_exp,
                          shape.query_heads * sizeof(float));
  }
  if (!status.ok()) return status;
  const std::vector<HeadRange> groups = HeadGroups(shape, head_groups);
  const auto receive = [&](size_t group) {
    return std::make_unique<ReceivedKv>(prepared_, groups[group],
                                        ExchangeUse::kKeysForward, input_,
                                        communicator_, device_);
  };
  if (prepared_.has_received_rows()) next_ = receive(0);
  const HeadView all(shape, {0, shape.kv_heads});
  status = Compute(LocalCall(all, prepared_.local_tasks, input_), all);
  for (size_t g = 0; next_ != nullptr && status.ok(); ++g) {
    const std::unique_ptr<ReceivedKv> received = std::move(next_);
    if (g + 1 < groups.size()) next_ = receive(g + 1);
    status = received->Wait();
    if (!status.ok()) break;
    status =
        Compute(received->CallFor(prepared_.remote_tasks, input_), received->heads());
  }
  return status;
}

absl::Status ForwardPass::Compute(const AttentionCall& call, const HeadView& heads) {
  if (call.tasks.empty()) return absl::OkStatus();
  return engine_.Forward(
      call, {heads.Queries(result_.output), heads.LogSumExp(result_.log_sum_exp)});
}

}  // namespace evenpack::worker
