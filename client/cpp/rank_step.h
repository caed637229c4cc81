// A step as one rank receives it: its micro-batches, and what the whole step comes to.
#ifndef EVENPACK_CLIENT_CPP_RANK_STEP_H_
#define EVENPACK_CLIENT_CPP_RANK_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/micro_batch_view.h"
#include "server/core/digest/digest.h"
#include "server/core/document/step.h"

namespace evenpack::client {

// Of the whole step, all ranks together.
struct StepTotals {
  uint64_t tokens = 0;
  uint64_t padding = 0;
  // Tokens that count in the loss: what a rank divides its part of the loss by.
  uint64_t loss_tokens = 0;
  // Of document (or piece) lengths; MFU needs it.
  uint64_t sum_squared_lengths = 0;
  // Over the N micro-batches, predicted forward pass.
  int64_t max_workload_ns = 0;
  int64_t total_workload_ns = 0;
  // N.
  uint32_t micro_batches = 0;

  friend bool operator==(const StepTotals&, const StepTotals&) = default;
};

// Constant; copies share what they hold. Concurrent reading is safe.
class RankStep {
 public:
  // Reads the message; `spec` is the job's in the epoch of the subscription that
  // brought it. Nothing is verified but the form: see VerifyStep. DATA_LOSS naming
  // step, micro-batch and field: the message can't be a step.
  static absl::StatusOr<RankStep> FromMessage(const v1::Step& message,
                                              std::shared_ptr<const v1::JobSpec> spec);

  // From 0, without gaps.
  uint64_t index() const { return data_->index; }
  // The shape epoch in which it was decided; a durable mark names it.
  uint64_t epoch() const { return data_->epoch; }
  StepKind kind() const { return data_->kind; }
  uint32_t dp_rank() const { return data_->dp_rank; }
  // The rank's own, M of them; each lives as long as this object or a copy of it.
  std::span<const MicroBatchView> micro_batches() const { return data_->micro_batches; }
  // Of all N micro-batches of the step.
  std::span<const Digest128> micro_batch_digests() const {
    return data_->micro_batch_digests;
  }
  // What a trainer keeps in its checkpoint, to go on from: ConsumerOptions.last_digest.
  const Digest128& digest() const { return data_->digest; }
  const Digest128& previous_digest() const { return data_->previous_digest; }
  const StepTotals& totals() const { return data_->totals; }
  // The job's spec, with the names of its streams.
  const v1::JobSpec& spec() const { return *data_->spec; }

  // The same as it comes where `cp_rank` was asked for. INVALID_ARGUMENT naming
  // cp_rank: the group has no such rank, or another one was asked for.
  absl::StatusOr<RankStep> OfCpRank(uint32_t cp_rank) const;

  // What the step takes in memory, the spec apart, which many steps share.
  size_t memory_bytes() const;

 private:
  struct Data {
    uint64_t index = 0;
    uint64_t epoch = 0;
    StepKind kind = StepKind::kFullBatch;
    uint32_t dp_rank = 0;
    std::vector<MicroBatchView> micro_batches;
    std::vector<Digest128> micro_batch_digests;
    Digest128 digest;
    Digest128 previous_digest;
    StepTotals totals;
    std::shared_ptr<const v1::JobSpec> spec;
  };

  static absl::Status Read(const v1::Step& message, Data& data);

  explicit RankStep(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_RANK_STEP_H_
