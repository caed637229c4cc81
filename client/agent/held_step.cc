#include "client/agent/held_step.h"

#include <span>
#include <utility>
#include <vector>

#include "client/cpp/data_loss.h"
#include "client/cpp/wire_shard_plan.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/shard_plan.h"
#include "server/payload/token_batch.h"
#include "server/service/step_conversion.h"

namespace evenpack::agent {
namespace {

// Token ids of the slices, in their order, out of those of all documents.
std::string TokensOf(const RankSlices& slices, const ShardPlan& plan,
                     const std::string& whole) {
  std::string part;
  part.reserve(slices.tokens * kTokenBytes);
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint64_t begin = plan.document_starts[slices.document[i]] + slices.begin[i];
    part.append(whole, begin * kTokenBytes,
                (slices.end[i] - slices.begin[i]) * kTokenBytes);
  }
  return part;
}

absl::Status TakeViewOf(uint32_t cp_rank, v1::MicroBatch& micro_batch) {
  const auto& lengths = micro_batch.documents().length();
  const absl::StatusOr<ShardPlan> plan = client::ReadShardPlan(
      micro_batch.plan(),
      std::span(lengths.data(), static_cast<size_t>(lengths.size())));
  if (!plan.ok()) return plan.status();
  // A rank that the step's epoch doesn't have gets no slices.
  if (cp_rank >= plan->context_parallel) return absl::OkStatus();
  const RankSlices slices = ExpandRank(*plan, cp_rank);
  ToProto(cp_rank, slices, *micro_batch.mutable_slices());
  const std::string& tokens = micro_batch.documents().token_ids();
  if (tokens.empty()) return absl::OkStatus();
  if (tokens.size() != plan->tokens() * kTokenBytes) {
    return client::DataLoss("documents.token_ids has ", tokens.size(),
                            " bytes; expected: ", plan->tokens() * kTokenBytes);
  }
  micro_batch.mutable_documents()->set_token_ids(TokensOf(slices, *plan, tokens));
  return absl::OkStatus();
}

HeldStep::Encoded Encode(v1::Step step) {
  v1::StreamStepsResponse response;
  *response.mutable_step() = std::move(step);
  return std::make_shared<const std::string>(response.SerializeAsString());
}

}  // namespace

absl::Status TakeView(uint32_t cp_rank, v1::Step& step) {
  for (v1::MicroBatch& micro_batch : *step.mutable_micro_batches()) {
    if (absl::Status status = TakeViewOf(cp_rank, micro_batch); !status.ok()) {
      return client::DataLoss("step ", step.index(), ", micro-batch ",
                              micro_batch.index(), ": ", status.message());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const HeldStep>> HeldStep::Make(v1::Step step,
                                                               bool one_view) {
  const auto digest = DigestFromBytes(step.digest());
  const auto previous = DigestFromBytes(step.previous_digest());
  if (!digest.has_value() || !previous.has_value()) {
    return client::DataLoss("step ", step.index(),
                            ": its digests have not 16 bytes each");
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): make_shared can't see it.
  std::shared_ptr<HeldStep> held(new HeldStep);
  held->index_ = step.index();
  held->epoch_ = step.epoch();
  held->digest_ = *digest;
  held->previous_digest_ = *previous;
  held->one_view_ = one_view;
  held->whole_ = Encode(std::move(step));
  return held;
}

absl::StatusOr<std::shared_ptr<const HeldStep>> HeldStep::Whole(v1::Step step) {
  return Make(std::move(step), /*one_view=*/false);
}

absl::StatusOr<std::shared_ptr<const HeldStep>> HeldStep::OneView(v1::Step step) {
  return Make(std::move(step), /*one_view=*/true);
}

absl::StatusOr<HeldStep::Encoded> HeldStep::View(
    std::optional<uint32_t> cp_rank) const {
  if (one_view_ || !cp_rank.has_value()) return whole_;
  MutexLock lock(mutex_);
  Encoded& view = views_[*cp_rank];
  if (view != nullptr) return view;
  v1::StreamStepsResponse response;
  if (!response.ParseFromString(*whole_)) {
    return absl::InternalError("a step that was encoded here can't be read");
  }
  absl::Status status = TakeView(*cp_rank, *response.mutable_step());
  if (!status.ok()) return status;
  view = Encode(std::move(*response.mutable_step()));
  return view;
}

}  // namespace evenpack::agent
