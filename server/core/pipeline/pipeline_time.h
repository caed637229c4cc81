// How long a pipeline takes for micro-batches of different length.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIME_H_
#define EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIME_H_

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/pipeline/pipeline_schedule.h"

namespace evenpack {

// One micro-batch, in nanoseconds, each from 0 to kMaxPassNs.
struct PassTime {
  // Through one chunk of any rank.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  // What the very last chunk, that of the loss, takes on top.
  int64_t head_forward_ns = 0;
  int64_t head_backward_ns = 0;
  // From the end of a pass until the next chunk, on another rank, can begin. Sends take
  // none of a rank's time and as many as there are go at once.
  int64_t send_ns = 0;

  friend bool operator==(const PassTime&, const PassTime&) = default;
};

// What a micro-batch's passes take where each is as long as the slowest of `ranks`,
// data- parallel ranks that meet at every pass. On the last chunk that is the one of
// most work and loss together. `ranks` is not empty.
PassTime SlowestOf(std::span<const PassTime> ranks);

// 2^40 ns, 18 minutes: kMaxPasses with their heads and sends come to less than 2^62.
inline constexpr int64_t kMaxPassNs = int64_t{1} << 40;

struct PipelineTime {
  // From the first pass's start to the last one's end.
  int64_t total_ns = 0;
  // What each rank computes of that; the rest it waits.
  std::vector<int64_t> busy_ns;

  friend bool operator==(const PipelineTime&, const PipelineTime&) = default;
};

// Every pass starts as soon as its rank is done with the one before it in ScheduleOf
// and what it needs has arrived: forward, the output of the chunk before; backward, the
// gradient of the chunk after, at the last chunk its own forward pass. `shape` is valid
// and has as many micro-batches as `times`. Time and memory O(passes of all ranks).
PipelineTime PredictPipeline(const PipelineShape& shape,
                             std::span<const PassTime> times);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_PIPELINE_TIME_H_
