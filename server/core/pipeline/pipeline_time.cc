#include "server/core/pipeline/pipeline_time.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace evenpack {
namespace {

constexpr int64_t kNotYet = -1;

class Pipeline {
 public:
  Pipeline(const PipelineShape& shape, std::span<const PassTime> times)
      : shape_(shape),
        times_(times),
        stages_(shape.pipeline_parallel * shape.virtual_stages),
        forward_done_(size_t{stages_} * times.size(), kNotYet),
        backward_done_(forward_done_),
        ranks_(shape.pipeline_parallel) {
    for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
      ranks_[rank].schedule = ScheduleOf(shape, rank);
    }
  }

  PipelineTime Run() {
    // Only the neighbours of a rank that got on can have something new to do.
    std::vector<uint32_t> ready(shape_.pipeline_parallel);
    for (uint32_t rank = 0; rank < ready.size(); ++rank) ready[rank] = rank;
    while (!ready.empty()) {
      std::vector<uint32_t> next;
      for (const uint32_t rank : ready) {
        if (!Advance(rank)) continue;
        const uint32_t ranks = shape_.pipeline_parallel;
        next.push_back((rank + 1) % ranks);
        next.push_back((rank + ranks - 1) % ranks);
      }
      ready = std::move(next);
    }
    PipelineTime time;
    for (const Rank& rank : ranks_) {
      assert(rank.next == rank.schedule.size());
      time.total_ns = std::max(time.total_ns, rank.free_ns);
      time.busy_ns.push_back(rank.busy_ns);
    }
    return time;
  }

 private:
  struct Rank {
    std::vector<ChunkPass> schedule;
    size_t next = 0;
    int64_t free_ns = 0;
    int64_t busy_ns = 0;
  };

  size_t At(uint32_t stage, uint32_t micro_batch) const {
    return size_t{stage} * times_.size() + micro_batch;
  }

  // When what the pass needs is there; kNotYet if that is not known.
  int64_t Arrival(Pass pass, uint32_t stage, uint32_t micro_batch) const {
    const bool last = stage + 1 == stages_;
    if (pass == Pass::kForward && stage == 0) return 0;
    if (pass == Pass::kBackward && last) return forward_done_[At(stage, micro_batch)];
    const int64_t done = pass == Pass::kForward
                             ? forward_done_[At(stage - 1, micro_batch)]
                             : backward_done_[At(stage + 1, micro_batch)];
    const bool same_rank = shape_.pipeline_parallel == 1;
    if (done == kNotYet || same_rank) return done;
    return done + times_[micro_batch].send_ns;
  }

  int64_t Duration(Pass pass, uint32_t stage, uint32_t micro_batch) const {
    const PassTime& time = times_[micro_batch];
    const bool last = stage + 1 == stages_;
    if (pass == Pass::kForward) {
      return time.forward_ns + (last ? time.head_forward_ns : 0);
    }
    return time.backward_ns + (last ? time.head_backward_ns : 0);
  }

  // Runs what the rank can run; false where that is nothing.
  bool Advance(uint32_t index) {
    Rank& rank = ranks_[index];
    const size_t before = rank.next;
    for (; rank.next < rank.schedule.size(); ++rank.next) {
      const ChunkPass& pass = rank.schedule[rank.next];
      const uint32_t stage = pass.chunk * shape_.pipeline_parallel + index;
      const int64_t arrival = Arrival(pass.pass, stage, pass.micro_batch);
      if (arrival == kNotYet) break;
      const int64_t duration = Duration(pass.pass, stage, pass.micro_batch);
      rank.free_ns = std::max(rank.free_ns, arrival) + duration;
      rank.busy_ns += duration;
      auto& done = pass.pass == Pass::kForward ? forward_done_ : backward_done_;
      done[At(stage, pass.micro_batch)] = rank.free_ns;
    }
    return rank.next != before;
  }

  const PipelineShape& shape_;
  const std::span<const PassTime> times_;
  const uint32_t stages_;
  // Ends by stage and micro-batch.
  std::vector<int64_t> forward_done_;
  std::vector<int64_t> backward_done_;
  std::vector<Rank> ranks_;
};

}  // namespace

PassTime SlowestOf(std::span<const PassTime> ranks) {
  PassTime most;
  int64_t last_forward_ns = 0;
  int64_t last_backward_ns = 0;
  for (const PassTime& time : ranks) {
    most.forward_ns = std::max(most.forward_ns, time.forward_ns);
    most.backward_ns = std::max(most.backward_ns, time.backward_ns);
    most.send_ns = std::max(most.send_ns, time.send_ns);
    last_forward_ns = std::max(last_forward_ns, time.forward_ns + time.head_forward_ns);
    last_backward_ns =
        std::max(last_backward_ns, time.backward_ns + time.head_backward_ns);
  }
  most.head_forward_ns = last_forward_ns - most.forward_ns;
  most.head_backward_ns = last_backward_ns - most.backward_ns;
  return most;
}

PipelineTime PredictPipeline(const PipelineShape& shape,
                             std::span<const PassTime> times) {
  return Pipeline(shape, times).Run();
}

}  // namespace evenpack
