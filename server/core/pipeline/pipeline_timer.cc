#include "server/core/pipeline/pipeline_timer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace evenpack {
namespace {

// What costs_ has of each micro-batch.
constexpr uint32_t kSend = 0;
constexpr uint32_t kForward = 1;
constexpr uint32_t kBackward = 2;
constexpr uint32_t kLossForward = 3;
constexpr uint32_t kLossBackward = 4;
constexpr uint32_t kCosts = 5;

constexpr uint32_t Duration(Pass pass, bool loss) {
  if (pass == Pass::kForward) return loss ? kLossForward : kForward;
  return loss ? kLossBackward : kBackward;
}

constexpr uint32_t CostAt(uint32_t micro_batch, uint32_t cost) {
  return 1 + micro_batch * kCosts + cost;
}

constexpr uint32_t kNothing = 0;
constexpr uint32_t kBeginning = 0;

}  // namespace

// One pass of each rank in turn, as far as its input is there: neighbours in the result
// are of different ranks and hardly wait for each other, so that a processor can work
// at several of them at once.
class PipelineTimer::Sorter {
 public:
  explicit Sorter(const PipelineShape& shape)
      : shape_(shape),
        stages_(shape.pipeline_parallel * shape.virtual_stages),
        forward_end_(size_t{stages_} * shape.micro_batches, kBeginning),
        backward_end_(forward_end_),
        ranks_(shape.pipeline_parallel) {
    for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
      ranks_[rank].schedule = ScheduleOf(shape, rank);
    }
  }

  std::vector<TimedPass> Run() {
    const size_t all = ranks_.size() * ranks_.front().schedule.size();
    sorted_.reserve(all);
    while (sorted_.size() < all) {
      const size_t before = sorted_.size();
      for (uint32_t rank = 0; rank < ranks_.size(); ++rank) Advance(rank);
      assert(sorted_.size() > before);
      static_cast<void>(before);
    }
    return std::move(sorted_);
  }

  // Where ends_ has the end of a rank's last pass.
  uint32_t EndOf(uint32_t rank) const { return ranks_[rank].end; }

 private:
  struct Rank {
    std::vector<ChunkPass> schedule;
    size_t next = 0;
    uint32_t end = kBeginning;
  };

  uint32_t& End(Pass pass, uint32_t stage, uint32_t micro_batch) {
    auto& ends = pass == Pass::kForward ? forward_end_ : backward_end_;
    return ends[size_t{stage} * shape_.micro_batches + micro_batch];
  }

  // kBeginning where the input is not there yet, or the pass takes none.
  uint32_t Input(Pass pass, uint32_t stage, uint32_t micro_batch) {
    if (pass == Pass::kForward) {
      return stage == 0 ? kBeginning : End(pass, stage - 1, micro_batch);
    }
    const bool last = stage + 1 == stages_;
    return last ? End(Pass::kForward, stage, micro_batch)
                : End(pass, stage + 1, micro_batch);
  }

  void Advance(uint32_t index) {
    Rank& rank = ranks_[index];
    if (rank.next == rank.schedule.size()) return;
    const auto [pass, micro_batch, chunk] = rank.schedule[rank.next];
    const bool forward = pass == Pass::kForward;
    const uint32_t stage = chunk * shape_.pipeline_parallel + index;
    const bool first = forward && stage == 0;
    const bool loss = stage + 1 == stages_;
    const uint32_t input = Input(pass, stage, micro_batch);
    if (input == kBeginning && !first) return;
    const bool sent = !first && (forward || !loss) && shape_.pipeline_parallel > 1;
    sorted_.push_back({.before_it = rank.end,
                       .input = input,
                       .lag = sent ? CostAt(micro_batch, kSend) : kNothing,
                       .duration = CostAt(micro_batch, Duration(pass, loss))});
    rank.end = static_cast<uint32_t>(sorted_.size());
    End(pass, stage, micro_batch) = rank.end;
    ++rank.next;
  }

  const PipelineShape& shape_;
  const uint32_t stages_;
  // By stage and micro-batch.
  std::vector<uint32_t> forward_end_;
  std::vector<uint32_t> backward_end_;
  std::vector<Rank> ranks_;
  std::vector<TimedPass> sorted_;
};

PipelineTimer::PipelineTimer(const PipelineShape& shape)
    : micro_batches_(shape.micro_batches), costs_(CostAt(shape.micro_batches, 0), 0) {
  Sorter sorter(shape);
  passes_ = sorter.Run();
  last_ = sorter.EndOf(0);
  ends_.resize(passes_.size() + 1, 0);
}

void PipelineTimer::Load(std::span<const PassTime> times,
                         std::span<const uint32_t> order) {
  int64_t* cost = &costs_[CostAt(0, 0)];
  for (const uint32_t micro_batch : order) {
    const PassTime& time = times[micro_batch];
    cost[kSend] = time.send_ns;
    cost[kForward] = time.forward_ns;
    cost[kBackward] = time.backward_ns;
    cost[kLossForward] = time.forward_ns + time.head_forward_ns;
    cost[kLossBackward] = time.backward_ns + time.head_backward_ns;
    cost += kCosts;
  }
}

int64_t PipelineTimer::TotalNs(std::span<const PassTime> times,
                               std::span<const uint32_t> order) {
  Load(times, order);
  const int64_t* const costs = costs_.data();
  int64_t* const ends = ends_.data();
  int64_t* end = ends;
  for (const TimedPass& pass : passes_) {
    const int64_t arrival = ends[pass.input] + costs[pass.lag];
    *++end = std::max(ends[pass.before_it], arrival) + costs[pass.duration];
  }
  return ends[last_];
}

}  // namespace evenpack
