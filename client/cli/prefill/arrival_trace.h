// When requests arrive, drawn at random.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_ARRIVAL_TRACE_H_
#define EVENPACK_CLIENT_CLI_PREFILL_ARRIVAL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/prefill/arrivals_file.h"

namespace evenpack {

enum class ArrivalPattern : uint8_t {
  // Independent of each other, on average `rate` a second.
  kPoisson,
  // The same, but at 3 times the rate in bursts and at a third of it between them.
  // Bursts last `burst_seconds` on average and a quarter of all time, so that the mean
  // is `rate`; both durations are exponentially distributed.
  kBursty,
};

struct ArrivalSpec {
  ArrivalPattern pattern = ArrivalPattern::kPoisson;
  // Requests a second, 0.001 to 1,000,000.
  double rate = 1;
  // 0.001 to 1,000, and at least 0.001 / rate.
  double burst_seconds = 10;
  uint64_t seed = 0;
};

// Nanoseconds from the beginning, rising, for `count` requests. Drawn by
// DrawExponential in picoseconds from std::mt19937_64 seeded by std::seed_seq{seed mod
// 2^32, seed / 2^32, 0}: the same on every machine. INVALID_ARGUMENT naming --rate
// where they take more than kMostArrivalNs.
absl::StatusOr<std::vector<int64_t>> DrawArrivals(const ArrivalSpec& spec,
                                                  size_t count);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_ARRIVAL_TRACE_H_
