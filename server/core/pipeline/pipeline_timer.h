// PredictPipeline's total for one order of micro-batches after the other, in a fraction
// of its time.
//
//   PipelineTimer timer(shape);
//   const int64_t total_ns = timer.TotalNs(times, order);
#ifndef EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIMER_H_
#define EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIMER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"

namespace evenpack {

// Which passes wait for which depends on the shape alone: the timer holds all passes of
// all ranks in an order in which each comes after those that it waits for, and so times
// an order of micro-batches in one run through them, without allocating. Not
// thread-safe: TotalNs has scratch.
class PipelineTimer {
 public:
  // `shape` is valid. Time and memory O(passes of all ranks).
  explicit PipelineTimer(const PipelineShape& shape);

  // PredictPipeline(shape, {times[order[0]], times[order[1]], ...}).total_ns. `order`
  // has micro_batches positions in `times`. O(passes of all ranks).
  int64_t TotalNs(std::span<const PassTime> times, std::span<const uint32_t> order);

  // Of a data-parallel rank, as the shape has them.
  size_t micro_batches() const { return micro_batches_; }
  // Passes of all ranks, which TotalNs runs through.
  size_t passes() const { return passes_.size(); }

 private:
  // A pass starts at the end of the one before it on its rank or, if that is later, a
  // `lag` after the end of the one whose output it takes.
  struct TimedPass {
    // Positions in ends_.
    uint32_t before_it = 0;
    uint32_t input = 0;
    // Positions in costs_.
    uint32_t lag = 0;
    uint32_t duration = 0;
  };
  class Sorter;

  // Into costs_.
  void Load(std::span<const PassTime> times, std::span<const uint32_t> order);

  const size_t micro_batches_;
  std::vector<TimedPass> passes_;
  // The last pass of the first rank: the last backward passes of the others are what it
  // waits for.
  size_t last_ = 0;
  // ends_[i + 1] is the end of pass i; ends_[0] the beginning of all.
  std::vector<int64_t> ends_;
  // Nothing, and then for each micro-batch in turn what one of its passes can take.
  std::vector<int64_t> costs_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIMER_H_
