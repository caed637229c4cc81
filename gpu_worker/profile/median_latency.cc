#include "gpu_worker/profile/median_latency.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace evenpack::worker {

absl::StatusOr<int64_t> MedianLatencyNs(const Clock& clock,
                                        const Repetitions& repetitions,
                                        absl::FunctionRef<absl::Status()> prepare,
                                        absl::FunctionRef<absl::Status()> run) {
  std::vector<int64_t> latencies;
  for (uint32_t i = 0; i < repetitions.warm_up + repetitions.counted; ++i) {
    if (absl::Status status = prepare(); !status.ok()) return status;
    const Clock::TimePoint begun = clock.Now();
    if (absl::Status status = run(); !status.ok()) return status;
    const auto took =
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock.Now() - begun);
    if (i >= repetitions.warm_up) latencies.push_back(took.count());
  }
  const auto middle =
      latencies.begin() + static_cast<std::ptrdiff_t>((latencies.size() - 1) / 2);
  std::nth_element(latencies.begin(), middle, latencies.end());
  return *middle;
}

}  // namespace evenpack::worker
