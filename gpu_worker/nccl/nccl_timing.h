// How long ranks wait for each other over NCCL.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_TIMING_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_TIMING_H_

#include <chrono>

#include "server/runtime/clock.h"

namespace evenpack::worker {

// And how often they look.
struct NcclTiming {
  std::chrono::nanoseconds connect_timeout = std::chrono::minutes(1);
  std::chrono::nanoseconds exchange_timeout = std::chrono::minutes(10);
  // Until peers have what they were sent by a rank that ends, and NCCL has ended: it
  // is done within milliseconds, but where peers of the host stay.
  std::chrono::nanoseconds close_timeout = std::chrono::seconds(5);
  // Until NCCL has ended what is aborted; likewise.
  std::chrono::nanoseconds abort_timeout = std::chrono::seconds(1);
  std::chrono::nanoseconds poll_interval = std::chrono::milliseconds(5);
  // Of the time-outs. Lives as long as what is timed.
  const Clock* clock = &Clock::Steady();

  Clock::TimePoint After(std::chrono::nanoseconds time) const {
    return clock->Now() + std::chrono::duration_cast<Clock::TimePoint::duration>(time);
  }
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_TIMING_H_
