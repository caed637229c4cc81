#include "client/cpp/rank_step.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/data_loss.h"
#include "client/cpp/wire_digest.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

std::optional<StepKind> ReadKind(v1::StepKind kind) {
  switch (kind) {
    case v1::STEP_KIND_FULL_BATCH:
      return StepKind::kFullBatch;
    case v1::STEP_KIND_BACKLOG:
      return StepKind::kBacklog;
    case v1::STEP_KIND_DRAIN:
      return StepKind::kDrain;
    default:
      return std::nullopt;
  }
}

StepTotals ReadTotals(const v1::StepTotals& message) {
  StepTotals totals;
  totals.tokens = message.tokens();
  totals.padding = message.padding();
  totals.loss_tokens = message.loss_tokens();
  totals.sum_squared_lengths = message.sum_squared_lengths();
  totals.max_workload_ns = message.max_workload_ns();
  totals.total_workload_ns = message.total_workload_ns();
  totals.micro_batches = message.micro_batches();
  return totals;
}

}  // namespace

absl::Status RankStep::Read(const v1::Step& message, Data& data) {
  data.index = message.index();
  data.epoch = message.epoch();
  data.dp_rank = message.dp_rank();
  data.totals = ReadTotals(message.totals());
  const std::optional<StepKind> kind = ReadKind(message.kind());
  if (!kind.has_value()) return DataLoss(": kind is ", message.kind());
  data.kind = *kind;
  const auto digest = DigestFromBytes(message.digest());
  const auto previous = DigestFromBytes(message.previous_digest());
  auto digests = ReadDigests(message.micro_batch_digests());
  if (!digest || !previous || !digests) {
    return DataLoss(": digest, previous_digest and micro_batch_digests have ",
                    message.digest().size(), ", ", message.previous_digest().size(),
                    " and ", message.micro_batch_digests().size(),
                    " bytes; expected: 16, 16 and a multiple of 16");
  }
  data.digest = *digest;
  data.previous_digest = *previous;
  data.micro_batch_digests = *std::move(digests);
  data.micro_batches.reserve(static_cast<size_t>(message.micro_batches_size()));
  for (const v1::MicroBatch& micro_batch : message.micro_batches()) {
    absl::StatusOr<MicroBatchView> view =
        MicroBatchView::FromMessage(micro_batch, data.spec->consumer_layout().layout());
    if (!view.ok()) return DataLoss(", ", view.status().message());
    data.micro_batches.push_back(*std::move(view));
  }
  return absl::OkStatus();
}

absl::StatusOr<RankStep> RankStep::OfCpRank(uint32_t cp_rank) const {
  auto data = std::make_shared<Data>(*data_);
  for (MicroBatchView& view : data->micro_batches) {
    if (view.cp_rank().has_value() && *view.cp_rank() != cp_rank) {
      return InvalidField("cp_rank", cp_rank,
                          absl::StrCat(*view.cp_rank(), ", for which the step came"));
    }
    absl::Status status =
        CheckRange("cp_rank", cp_rank, 0, view.context_parallel() - 1);
    if (!status.ok()) return status;
    if (!view.cp_rank().has_value()) view = view.OfCpRank(cp_rank);
  }
  return RankStep(std::move(data));
}

size_t RankStep::memory_bytes() const {
  size_t bytes =
      sizeof(Data) + data_->micro_batch_digests.capacity() * sizeof(Digest128);
  for (const MicroBatchView& view : data_->micro_batches) bytes += view.memory_bytes();
  return bytes;
}

absl::StatusOr<RankStep> RankStep::FromMessage(
    const v1::Step& message, std::shared_ptr<const v1::JobSpec> spec) {
  auto data = std::make_shared<Data>();
  data->spec = std::move(spec);
  const absl::Status status = Read(message, *data);
  if (!status.ok()) return DataLoss("step ", message.index(), status.message());
  return RankStep(std::move(data));
}

}  // namespace evenpack::client
