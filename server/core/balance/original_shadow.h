// What the policy `original` would have made of the documents that another policy is
// given, so that the gain of the other one can be reported.
#ifndef EVENPACK_SERVER_CORE_BALANCE_ORIGINAL_SHADOW_H_
#define EVENPACK_SERVER_CORE_BALANCE_ORIGINAL_SHADOW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "server/core/balance/micro_batch_sizes.h"
#include "server/core/balance/step_balance.h"
#include "server/core/cost/workload_table.h"

namespace evenpack {

// Packs as a job with PolicyKind::kOriginal does that has no layout, cuts documents
// only where they are longer than a micro-batch may be, and never waits: a step takes
// what the last one left over and then documents until their tokens reach N x L.
// Between calls it holds documents of less than N x L tokens. Deterministic; not
// thread-safe.
class OriginalShadow {
 public:
  // N, L in tokens, tokens of a piece of a longer document (LongestDocument), and the
  // costs by which steps are compared.
  OriginalShadow(size_t micro_batches, uint32_t window, uint32_t longest,
                 WorkloadTable workload);

  // The costs by which steps to come are compared.
  void SetWorkload(WorkloadTable workload) { workload_ = std::move(workload); }

  // The balance of each step that can be formed once `admitted` has come: lengths of
  // documents in merged order, such as those of a full global batch. On average there
  // is more than one step for each global batch, since micro-batches that are filled in
  // order stay partly empty. Steps of left-overs alone, which a job would count apart,
  // are formed and not returned. `last`, where it is given: the micro-batches of the
  // last step that is returned; as it was where none is.
  std::vector<StepBalance> Add(std::span<const uint32_t> admitted,
                               MicroBatchSizes* last = nullptr);

 private:
  // Where a length comes from.
  struct Origin {
    uint32_t document_length;
    // Not a further piece of the document that the length before is of.
    bool is_first;
  };

  void Append(uint32_t document_length);
  // Of the step whose micro-batches are cut from what is pending from `begin` on
  // (OriginalEnds).
  StepBalance Measure(size_t begin, std::span<const size_t> ends,
                      MicroBatchSizes* sizes) const;

  size_t micro_batches_;
  uint32_t window_;
  uint32_t longest_;
  WorkloadTable workload_;
  // Lengths of documents, or of their pieces, in merged order; the first `left_over_`
  // of them were in a step's work list before.
  std::vector<uint32_t> pending_;
  // One for each of those.
  std::vector<Origin> origins_;
  size_t left_over_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_BALANCE_ORIGINAL_SHADOW_H_
