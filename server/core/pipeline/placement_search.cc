#include "server/core/pipeline/placement_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "server/core/pipeline/rank_order.h"

namespace evenpack {
namespace {

constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

size_t SlowestRank(const RankedOrder& ranked) {
  return static_cast<size_t>(
      std::max_element(ranked.total_ns.begin(), ranked.total_ns.end()) -
      ranked.total_ns.begin());
}

}  // namespace

int64_t RankedOrder::SlowestNs() const { return total_ns[SlowestRank(*this)]; }

PlacementSearch::PlacementSearch(PipelineTimer& timer, std::span<const PassTime> times,
                                 std::span<const MicroBatchLoad> loads,
                                 SearchBudget& budget)
    : timer_(timer),
      times_(times),
      loads_(loads),
      budget_(budget),
      micro_batches_(timer.micro_batches()) {}

std::span<uint32_t> PlacementSearch::RankOf(RankedOrder& ranked, size_t rank) const {
  return std::span(ranked.order).subspan(rank * micro_batches_, micro_batches_);
}

int64_t PlacementSearch::TotalNs(std::span<const uint32_t> order) {
  return budget_.Spend(timer_.passes()) ? timer_.TotalNs(times_, order) : kNeverNs;
}

RankedOrder PlacementSearch::Given() {
  RankedOrder given;
  given.order.resize(times_.size());
  std::iota(given.order.begin(), given.order.end(), 0);
  for (size_t rank = 0; rank < times_.size() / micro_batches_; ++rank) {
    given.total_ns.push_back(timer_.TotalNs(times_, RankOf(given, rank)));
  }
  return given;
}

RankedOrder PlacementSearch::Arranged(std::vector<uint32_t> assigned) {
  RankedOrder arranged;
  arranged.order = std::move(assigned);
  std::vector<uint32_t> sorted(micro_batches_);
  std::vector<uint32_t> tried(micro_batches_);
  for (size_t rank = 0; rank < times_.size() / micro_batches_; ++rank) {
    const std::span<uint32_t> order = RankOf(arranged, rank);
    std::copy(order.begin(), order.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end(), [this](uint32_t a, uint32_t b) {
      return std::pair(loads_[a].work_ns, a) < std::pair(loads_[b].work_ns, b);
    });
    int64_t least_ns = kNeverNs;
    for (const RankOrder named : kRankOrders) {
      Arrange(named, sorted, tried);
      const int64_t total_ns = TotalNs(tried);
      if (total_ns >= least_ns) continue;
      least_ns = total_ns;
      std::copy(tried.begin(), tried.end(), order.begin());
    }
    arranged.total_ns.push_back(least_ns);
  }
  return arranged;
}

bool PlacementSearch::AllOrdersFit(uint64_t operations) const {
  if (times_.size() != micro_batches_) return false;
  uint64_t orders = timer_.passes();
  for (uint64_t i = 2; i <= micro_batches_; ++i) {
    if (orders > operations / i) return false;
    orders *= i;
  }
  return true;
}

void PlacementSearch::TryAllOrders(RankedOrder& ranked) {
  std::vector<uint32_t> order = ranked.order;
  while (std::next_permutation(order.begin(), order.end())) {
    const int64_t total_ns = TotalNs(order);
    if (total_ns >= ranked.total_ns[0]) continue;
    ranked.total_ns[0] = total_ns;
    ranked.order = order;
  }
}

void PlacementSearch::Improve(RankedOrder& ranked) {
  bool improved = true;
  while (improved) {
    const size_t slowest = SlowestRank(ranked);
    improved = Reorder(ranked, slowest);
    for (size_t other = 0; other < ranked.total_ns.size() && !improved; ++other) {
      if (other != slowest) improved = ExchangeWith(ranked, slowest, other);
    }
  }
}

bool PlacementSearch::Reorder(RankedOrder& ranked, size_t rank) {
  const std::span<uint32_t> order = RankOf(ranked, rank);
  for (size_t distance = 1; distance < order.size(); ++distance) {
    for (size_t i = 0; i + distance < order.size(); ++i) {
      if (budget_.exhausted()) return false;
      std::swap(order[i], order[i + distance]);
      const int64_t total_ns = TotalNs(order);
      if (total_ns < ranked.total_ns[rank]) {
        ranked.total_ns[rank] = total_ns;
        return true;
      }
      std::swap(order[i], order[i + distance]);
    }
  }
  return false;
}

bool PlacementSearch::ExchangeWith(RankedOrder& ranked, size_t slowest, size_t other) {
  const int64_t room_ns = ranked.total_ns[slowest] - ranked.total_ns[other];
  for (uint32_t& mine : RankOf(ranked, slowest)) {
    if (!budget_.Spend(micro_batches_)) return false;
    for (uint32_t& theirs : RankOf(ranked, other)) {
      // The other rank hardly gets longer by less than by that.
      const int64_t moved_ns = loads_[mine].work_ns - loads_[theirs].work_ns;
      if (moved_ns <= 0 || moved_ns >= room_ns) continue;
      if (TryExchange(ranked, slowest, other, mine, theirs)) return true;
    }
  }
  return false;
}

bool PlacementSearch::TryExchange(RankedOrder& ranked, size_t slowest, size_t other,
                                  uint32_t& mine, uint32_t& theirs) {
  const int64_t before_ns = ranked.total_ns[slowest];
  std::swap(mine, theirs);
  const int64_t mine_ns = TotalNs(RankOf(ranked, slowest));
  if (mine_ns < before_ns) {
    const int64_t theirs_ns = TotalNs(RankOf(ranked, other));
    if (theirs_ns < before_ns) {
      ranked.total_ns[slowest] = mine_ns;
      ranked.total_ns[other] = theirs_ns;
      return true;
    }
  }
  std::swap(mine, theirs);
  return false;
}

}  // namespace evenpack
