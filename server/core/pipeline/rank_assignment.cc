#include "server/core/pipeline/rank_assignment.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace evenpack {
namespace {

// Heaviest first, each to the rank of least work that has room.
std::vector<uint32_t> DealByWork(std::span<const MicroBatchLoad> loads,
                                 uint32_t data_parallel) {
  using WorkOfRank = std::pair<int64_t, uint32_t>;
  std::priority_queue<WorkOfRank, std::vector<WorkOfRank>, std::greater<>> ranks;
  for (uint32_t rank = 0; rank < data_parallel; ++rank) ranks.emplace(0, rank);
  const size_t micro_batches = loads.size() / data_parallel;
  std::vector<size_t> held(data_parallel, 0);
  std::vector<uint32_t> dealt(loads.size());
  const std::vector<uint32_t> lightest_first = LightestFirst(loads);
  for (size_t i = loads.size(); i-- > 0;) {
    const uint32_t next = lightest_first[i];
    const auto [work_ns, rank] = ranks.top();
    ranks.pop();
    dealt[rank * micro_batches + held[rank]++] = next;
    if (held[rank] < micro_batches) ranks.emplace(work_ns + loads[next].work_ns, rank);
  }
  return dealt;
}

// Exchanges between ranks, each weighed in constant time.
class RankExchanges {
 public:
  RankExchanges(std::span<const MicroBatchLoad> loads, uint32_t data_parallel,
                uint32_t pipeline_parallel, std::vector<uint32_t> assigned)
      : loads_(loads),
        crossings_(pipeline_parallel - 1),
        micro_batches_(loads.size() / data_parallel),
        assigned_(std::move(assigned)),
        ranks_(data_parallel) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) Sum(rank);
  }

  std::vector<uint32_t> Run(SearchBudget& budget) {
    const uint64_t exchanges = micro_batches_ * micro_batches_ * (ranks_.size() - 1);
    while (budget.Spend(exchanges) && ImproveGreatest()) {
    }
    return std::move(assigned_);
  }

 private:
  struct Rank {
    int64_t work_ns = 0;
    // Of the two micro-batches that take longest to cross.
    int64_t longest_ns = 0;
    int64_t second_ns = 0;
    int64_t estimate_ns = 0;
  };

  const MicroBatchLoad& At(size_t slot) const { return loads_[assigned_[slot]]; }

  void Sum(size_t index) {
    Rank rank;
    for (size_t i = 0; i < micro_batches_; ++i) {
      const MicroBatchLoad& load = At(index * micro_batches_ + i);
      rank.work_ns += load.work_ns;
      rank.second_ns =
          std::max(rank.second_ns, std::min(rank.longest_ns, load.crossing_ns));
      rank.longest_ns = std::max(rank.longest_ns, load.crossing_ns);
    }
    rank.estimate_ns = rank.work_ns + crossings_ * rank.longest_ns;
    ranks_[index] = rank;
  }

  // With `in` in the place of `out`.
  int64_t EstimateWith(const Rank& rank, const MicroBatchLoad& out,
                       const MicroBatchLoad& in) const {
    const int64_t left_ns =
        out.crossing_ns == rank.longest_ns ? rank.second_ns : rank.longest_ns;
    return rank.work_ns - out.work_ns + in.work_ns +
           crossings_ * std::max(left_ns, in.crossing_ns);
  }

  // Makes the best exchange with the rank of greatest estimate; false where none helps.
  bool ImproveGreatest() {
    size_t greatest = 0;
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].estimate_ns > ranks_[greatest].estimate_ns) greatest = rank;
    }
    int64_t least_ns = ranks_[greatest].estimate_ns;
    std::pair<size_t, size_t> best = {0, 0};
    for (size_t mine = greatest * micro_batches_;
         mine < (greatest + 1) * micro_batches_; ++mine) {
      for (size_t other = 0; other < assigned_.size(); ++other) {
        const size_t rank = other / micro_batches_;
        if (rank == greatest) continue;
        const int64_t estimate_ns =
            std::max(EstimateWith(ranks_[greatest], At(mine), At(other)),
                     EstimateWith(ranks_[rank], At(other), At(mine)));
        if (estimate_ns >= least_ns) continue;
        least_ns = estimate_ns;
        best = {mine, other};
      }
    }
    if (best.first == best.second) return false;
    std::swap(assigned_[best.first], assigned_[best.second]);
    Sum(greatest);
    Sum(best.second / micro_batches_);
    return true;
  }

  const std::span<const MicroBatchLoad> loads_;
  const int64_t crossings_;
  const size_t micro_batches_;
  std::vector<uint32_t> assigned_;
  std::vector<Rank> ranks_;
};

}  // namespace

std::vector<MicroBatchLoad> LoadsOf(const PipelineShape& shape,
                                    std::span<const PassTime> times) {
  std::vector<MicroBatchLoad> loads;
  loads.reserve(times.size());
  for (const PassTime& time : times) {
    const int64_t crossing_ns = time.forward_ns + time.backward_ns;
    loads.push_back({.work_ns = crossing_ns * shape.virtual_stages +
                                time.head_forward_ns + time.head_backward_ns,
                     .crossing_ns = crossing_ns});
  }
  return loads;
}

std::vector<uint32_t> LightestFirst(std::span<const MicroBatchLoad> loads) {
  std::vector<uint32_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [loads](uint32_t a, uint32_t b) {
    return std::pair(loads[a].work_ns, a) < std::pair(loads[b].work_ns, b);
  });
  return order;
}

int64_t EstimateNs(std::span<const MicroBatchLoad> loads, uint32_t pipeline_parallel) {
  int64_t work_ns = 0;
  int64_t longest_ns = 0;
  for (const MicroBatchLoad& load : loads) {
    work_ns += load.work_ns;
    longest_ns = std::max(longest_ns, load.crossing_ns);
  }
  return work_ns + int64_t{pipeline_parallel - 1} * longest_ns;
}

std::vector<uint32_t> AssignToRanks(std::span<const MicroBatchLoad> loads,
                                    uint32_t data_parallel, uint32_t pipeline_parallel,
                                    SearchBudget& budget) {
  std::vector<uint32_t> dealt = DealByWork(loads, data_parallel);
  if (data_parallel == 1) return dealt;
  return RankExchanges(loads, data_parallel, pipeline_parallel, std::move(dealt))
      .Run(budget);
}

}  // namespace evenpack
