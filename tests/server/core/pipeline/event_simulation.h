// What pipelines take by simulating them, event by event: ranks work off a queue of
// passes, outputs and gradients travel as messages. It knows nothing of longest paths.
#ifndef EVENPACK_TESTS_SERVER_CORE_PIPELINE_EVENT_SIMULATION_H_
#define EVENPACK_TESTS_SERVER_CORE_PIPELINE_EVENT_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"

namespace evenpack::testing {

// One or more pipelines of one shape beside each other. In lockstep, ranks of the same
// stage begin and end each pass together.
class EventSimulation {
 public:
  // times[d][m]: micro-batch m of pipeline d.
  EventSimulation(const PipelineShape& shape, std::vector<std::vector<PassTime>> times,
                  bool lockstep)
      : shape_(shape), times_(std::move(times)), lockstep_(lockstep) {
    for (size_t pipeline = 0; pipeline < times_.size(); ++pipeline) {
      for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
        std::vector<ChunkPass> queue = ScheduleOf(shape, rank);
        std::vector<bool> received(queue.size());
        ranks_.push_back({std::move(queue), std::move(received), 0, false, 0});
      }
    }
  }

  // The time of the last event; none where ranks wait for each other for ever.
  std::optional<int64_t> Run() {
    for (uint32_t rank = 0; rank < shape_.pipeline_parallel; ++rank) Start(rank, 0);
    int64_t now = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now = event.time_ns;
      Rank& rank = RankOf(event.pipeline, event.rank);
      if (event.is_message) {
        rank.received[IndexOf(event.pass)] = true;
      } else {
        rank.running = false;
        Send(event.pipeline, event.rank, rank.queue[rank.next++], now);
      }
      Start(event.rank, now);
    }
    for (const Rank& rank : ranks_) {
      if (rank.next < rank.queue.size()) return std::nullopt;
    }
    return now;
  }

  int64_t BusyNs(size_t pipeline, uint32_t rank) {
    return RankOf(pipeline, rank).busy_ns;
  }

 private:
  struct Rank {
    std::vector<ChunkPass> queue;
    // By IndexOf: passes that have what they wait for.
    std::vector<bool> received;
    size_t next = 0;
    bool running = false;
    int64_t busy_ns = 0;
  };

  struct Event {
    int64_t time_ns = 0;
    size_t pipeline = 0;
    uint32_t rank = 0;
    bool is_message = false;
    // What the message is for.
    ChunkPass pass;

    bool operator<(const Event& other) const { return time_ns > other.time_ns; }
  };

  Rank& RankOf(size_t pipeline, uint32_t rank) {
    return ranks_[pipeline * shape_.pipeline_parallel + rank];
  }

  size_t IndexOf(const ChunkPass& pass) const {
    const size_t kind = pass.pass == Pass::kForward ? 0 : shape_.virtual_stages;
    return (kind + pass.chunk) * shape_.micro_batches + pass.micro_batch;
  }

  bool IsLast(uint32_t rank, uint32_t chunk) const {
    return rank + 1 == shape_.pipeline_parallel && chunk + 1 == shape_.virtual_stages;
  }

  bool CanStart(size_t pipeline, uint32_t index) {
    const Rank& rank = RankOf(pipeline, index);
    if (rank.running || rank.next == rank.queue.size()) return false;
    const ChunkPass& pass = rank.queue[rank.next];
    if (pass.pass == Pass::kForward && index == 0 && pass.chunk == 0) return true;
    return rank.received[IndexOf(pass)];
  }

  int64_t DurationNs(size_t pipeline, uint32_t rank) {
    const ChunkPass& pass = RankOf(pipeline, rank).queue[RankOf(pipeline, rank).next];
    const PassTime& time = times_[pipeline][pass.micro_batch];
    const bool last = IsLast(rank, pass.chunk);
    if (pass.pass == Pass::kForward) {
      return last ? time.forward_ns + time.head_forward_ns : time.forward_ns;
    }
    return last ? time.backward_ns + time.head_backward_ns : time.backward_ns;
  }

  void Start(size_t pipeline, uint32_t index, int64_t now, int64_t duration_ns) {
    Rank& rank = RankOf(pipeline, index);
    rank.running = true;
    rank.busy_ns += duration_ns;
    events_.push({now + duration_ns, pipeline, index, false, {}});
  }

  // What can start on the ranks of one stage.
  void Start(uint32_t index, int64_t now) {
    if (!lockstep_) {
      for (size_t i = 0; i < times_.size(); ++i) {
        if (CanStart(i, index)) Start(i, index, now, DurationNs(i, index));
      }
      return;
    }
    int64_t slowest_ns = 0;
    for (size_t i = 0; i < times_.size(); ++i) {
      if (!CanStart(i, index)) return;
      slowest_ns = std::max(slowest_ns, DurationNs(i, index));
    }
    for (size_t i = 0; i < times_.size(); ++i) Start(i, index, now, slowest_ns);
  }

  void Send(size_t pipeline, uint32_t rank, const ChunkPass& done, int64_t now) {
    const uint32_t ranks = shape_.pipeline_parallel;
    const int64_t travel_ns =
        ranks == 1 ? 0 : times_[pipeline][done.micro_batch].send_ns;
    const bool forward = done.pass == Pass::kForward;
    if (forward && IsLast(rank, done.chunk)) {
      Deliver(pipeline, rank, {Pass::kBackward, done.micro_batch, done.chunk}, now);
    } else if (forward) {
      const uint32_t chunk = rank + 1 == ranks ? done.chunk + 1 : done.chunk;
      Deliver(pipeline, (rank + 1) % ranks, {Pass::kForward, done.micro_batch, chunk},
              now + travel_ns);
    } else if (rank > 0 || done.chunk > 0) {
      const uint32_t chunk = rank == 0 ? done.chunk - 1 : done.chunk;
      Deliver(pipeline, (rank + ranks - 1) % ranks,
              {Pass::kBackward, done.micro_batch, chunk}, now + travel_ns);
    }
  }

  void Deliver(size_t pipeline, uint32_t rank, const ChunkPass& pass, int64_t time_ns) {
    events_.push({time_ns, pipeline, rank, true, pass});
  }

  const PipelineShape shape_;
  const std::vector<std::vector<PassTime>> times_;
  const bool lockstep_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event> events_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CORE_PIPELINE_EVENT_SIMULATION_H_
