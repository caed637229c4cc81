// Requests that arrive, and data-parallel replicas that prefill them in lockstep: a
// simulation of discrete events.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_PREFILL_RUN_H_
#define EVENPACK_CLIENT_CLI_PREFILL_PREFILL_RUN_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "client/cli/prefill/batch_former.h"
#include "server/core/cost/workload_table.h"

namespace evenpack {

struct PrefillRequests {
  // Nanoseconds, rising, and tokens of each; of one size, at least 1, at most 2^32 - 1.
  std::span<const int64_t> arrivals_ns;
  std::span<const uint32_t> lengths;
};

// Of one run.
struct PrefillFigures {
  uint64_t requests = 0;
  uint64_t tokens = 0;
  uint64_t batches = 0;
  // From a request's arrival to the end of the batch that has it, in seconds;
  // percentiles by nearest rank.
  double ttft_mean = 0;
  double ttft_p50 = 0;
  double ttft_p99 = 0;
  double ttft_max = 0;
  // Of the time in which batches were computed, the share in which the mean replica
  // waited for the slowest.
  double idle_share = 0;
  // From the first arrival to the last batch's end.
  double seconds = 0;
  double tokens_per_second = 0;
  // Batches that began between a request's arrival and its own.
  uint64_t delay_max = 0;
  // Requests whose delay exceeded the bound; 0 without one.
  uint64_t over_bound = 0;
};

// A batch begins when the one before has ended on all replicas and a request waits. It
// has what `discipline` makes of those that wait, and lasts as long as the replica of
// most predicted work; attention is within a prompt, of which a batch has all tokens.
// With a bound `max_delay`, requests that have let so many batches pass go first; where
// more of these wait than a batch holds, some exceed it.
// `workload` as BatchFormer asks. INVALID_ARGUMENT naming --rate where the last batch
// would end above 2^62 ns.
absl::StatusOr<PrefillFigures> RunPrefill(const PrefillRequests& requests,
                                          Discipline discipline,
                                          const BatchLimits& limits,
                                          std::optional<uint64_t> max_delay,
                                          const WorkloadTable& workload);

// What the requests take if replicas share all work evenly, over the time in which
// they arrive: above 1 they come faster than any discipline can serve. None where all
// arrive at once.
std::optional<double> OfferedLoad(const PrefillRequests& requests, uint32_t replicas,
                                  const WorkloadTable& workload);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_PREFILL_RUN_H_
