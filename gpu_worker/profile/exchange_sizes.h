// What exchanges of all sizes take.
#ifndef EVENPACK_GPU_WORKER_PROFILE_EXCHANGE_SIZES_H_
#define EVENPACK_GPU_WORKER_PROFILE_EXCHANGE_SIZES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/profile/median_latency.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

struct MeasuredExchange {
  // That each rank receives, from all others together.
  uint64_t bytes = 0;
  // From a start that the ranks take together to the end at the slowest of them.
  int64_t latency_ns = 0;

  friend bool operator==(const MeasuredExchange&, const MeasuredExchange&) = default;
};

// Sizes from about 4 KiB on, each four times the one before, up to and with about
// `most`: what a rank receives in rows of 64 bytes, as many from each of ranks - 1
// others. None for a single rank.
std::vector<uint64_t> ExchangeSizes(uint32_t ranks, uint64_t most);

// All ranks of the group call it with the same arguments; `sizes` as ExchangeSizes has
// them. `shown` is told of each. Errors of the communicator.
absl::StatusOr<std::vector<MeasuredExchange>> MeasureExchanges(
    const std::vector<uint64_t>& sizes, const Repetitions& repetitions,
    const Clock& clock, Communicator& communicator,
    const std::function<void(const MeasuredExchange&)>& shown);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_EXCHANGE_SIZES_H_
