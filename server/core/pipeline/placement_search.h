// The search for orders of pipelines that run side by side, the slowest of which
// counts.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_SEARCH_H_
#define EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/pipeline/pipeline_timer.h"
#include "server/core/pipeline/rank_assignment.h"
#include "server/core/pipeline/search_budget.h"

namespace evenpack {

// Micro-batches of ranks and what each rank's pipeline takes.
struct RankedOrder {
  // Rank r has those at r * M to r * M + M - 1.
  std::vector<uint32_t> order;
  // By rank.
  std::vector<int64_t> total_ns;

  int64_t SlowestNs() const;
};

// `timer` has M micro-batches; `times` and `loads` (LoadsOf) belong together, M for
// each rank. What one pipeline's timing costs of the budget is the timer's passes. All
// results are the first of the best. Not thread-safe.
class PlacementSearch {
 public:
  PlacementSearch(PipelineTimer& timer, std::span<const PassTime> times,
                  std::span<const MicroBatchLoad> loads, SearchBudget& budget);

  // In the order of their positions. Takes nothing of the budget.
  RankedOrder Given();
  // Each rank of `assigned` in the fastest of kRankOrders. If the budget ends before,
  // SlowestNs() is the greatest number there is.
  RankedOrder Arranged(std::vector<uint32_t> assigned);
  // Whether there is one rank alone, and all its orders take `operations` at most.
  bool AllOrdersFit(uint64_t operations) const;
  // `ranked`, of one rank in the order of positions, becomes the fastest of all orders.
  void TryAllOrders(RankedOrder& ranked);
  // Until nothing helps or the budget ends: of the slowest rank two micro-batches
  // change places, near ones first, or one goes for a lighter one of another rank,
  // where both ranks then take less than the slowest did.
  void Improve(RankedOrder& ranked);

 private:
  std::span<uint32_t> RankOf(RankedOrder& ranked, size_t rank) const;
  // The greatest number there is where the budget has ended.
  int64_t TotalNs(std::span<const uint32_t> order);
  bool Reorder(RankedOrder& ranked, size_t rank);
  bool ExchangeWith(RankedOrder& ranked, size_t slowest, size_t other);
  bool TryExchange(RankedOrder& ranked, size_t slowest, size_t other, uint32_t& mine,
                   uint32_t& theirs);

  PipelineTimer& timer_;
  const std::span<const PassTime> times_;
  const std::span<const MicroBatchLoad> loads_;
  SearchBudget& budget_;
  const size_t micro_batches_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_PLACEMENT_SEARCH_H_
