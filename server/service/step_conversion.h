// A published step as one rank receives it.
#ifndef EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "server/sessions/published_step.h"

namespace evenpack::v1 {
class Documents;
class MicroBatch;
class RankSlices;
class ShardPlan;
class Step;
enum StepKind : int;
}  // namespace evenpack::v1

namespace evenpack {

// Whose view of a step.
struct StepView {
  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;

  friend auto operator<=>(const StepView&, const StepView&) = default;
};

// INVALID_ARGUMENT for a rank that the step's epoch doesn't have.
absl::Status CheckView(const StepView& view, const JobSpec& spec);

// A rank that the step's epoch doesn't have gets no micro-batches, or no slices.
void ToProto(const PublishedStep& published, const StepView& view, v1::Step& to);

// A micro-batch without slices and token ids; index below the step's number of them.
void ToProto(const PublishedStep& published, uint32_t index, v1::MicroBatch& to);

// Parts of it, with what of the message follows from them.
v1::StepKind ToProto(StepKind kind);
void ToProto(std::span<const Document> documents, v1::Documents& to);
// `digest`: PlanDigest of it. By rank, `context_parallel` entries each.
void ToProto(const ShardPlan& plan, const Digest128& digest,
             std::span<const uint64_t> rank_tokens,
             std::span<const uint64_t> rank_padding, v1::ShardPlan& to);
void ToProto(uint32_t cp_rank, const RankSlices& slices, v1::RankSlices& to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_
