// The workload model that a job keeps: W(micro-batch) = sum of W_a(document) +
// W_l(tokens of the micro-batch), forward pass, integer nanoseconds (WLB-LLM's
// model of a micro-batch).
#ifndef EVENPACK_SERVER_CORE_COST_WORKLOAD_TABLE_H_
#define EVENPACK_SERVER_CORE_COST_WORKLOAD_TABLE_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "server/core/cost/length_curve.h"

namespace evenpack {

// Integers, so that a sum does not depend on its order. Immutable after construction,
// so any number of threads may read one.
class WorkloadTable {
 public:
  // Zero everywhere.
  WorkloadTable() = default;

  // INVALID_ARGUMENT where the two curves differ in max_tokens.
  static absl::StatusOr<WorkloadTable> Create(LengthCurve attention,
                                              LengthCurve linear);

  // Half the range of int64_t: room for a bound compared with a sum.
  static constexpr int64_t kMaxStepNs = int64_t{1} << 62;

  // Whether no step of so many micro-batches, each of at most max_tokens() tokens, can
  // come to more than kMaxStepNs, however its tokens fall into documents.
  bool StepFits(uint32_t micro_batches) const;

  // W_a of one document of `length` tokens.
  int64_t AttentionNs(uint32_t length) const { return attention_.At(length); }
  // W_l of a micro-batch of `tokens` tokens.
  int64_t LinearNs(uint64_t tokens) const { return linear_.At(tokens); }

  // The longest document and the most tokens of a micro-batch that the table was
  // resolved, and its sums checked, for.
  uint32_t max_tokens() const { return attention_.max_tokens(); }
  const LengthCurve& attention() const { return attention_; }
  const LengthCurve& linear() const { return linear_; }

  friend bool operator==(const WorkloadTable&, const WorkloadTable&) = default;

 private:
  WorkloadTable(LengthCurve attention, LengthCurve linear);

  LengthCurve attention_;
  LengthCurve linear_;
  // No micro-batch of max_tokens() tokens comes to more, whatever its documents.
  absl::uint128 most_ns_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_WORKLOAD_TABLE_H_
