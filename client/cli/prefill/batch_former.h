// Which waiting requests make the next batch, and which replica computes which.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_BATCH_FORMER_H_
#define EVENPACK_CLIENT_CLI_PREFILL_BATCH_FORMER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/cli/prefill/waiting_requests.h"
#include "server/core/cost/workload_table.h"
#include "server/core/document/document.h"
#include "server/core/packing/release_by_workload.h"

namespace evenpack {

enum class Discipline : uint8_t {
  // In order of arrival, replicas taking turns; a replica without room is passed over,
  // and the batch ends with the first request that fits nowhere.
  kFirstCome,
  // In order of arrival, each to the replica of fewest tokens; ends likewise.
  kFewestTokens,
  // The longest first, each to the replica of fewest tokens; what does not fit waits.
  kLongestFirst,
  // Of the oldest requests that come to a batch's tokens those that the engine's policy
  // `balanced` lets go with its default options (release_by_workload.h), packed by it
  // (balanced.h) over the replicas: at least half of the tokens. A request much longer
  // than the others waits for its like, the longer it has waited the less.
  kBalanced,
};
inline constexpr std::array<std::string_view, 4> kDisciplineNames = {
    "fcfs", "fewest_tokens", "longest_first", "balanced"};

struct BatchLimits {
  // Data-parallel replicas, 1 to 65,536.
  uint32_t replicas = 1;
  // Tokens of a batch, over the replicas: at most so many each on average, though one
  // request always goes.
  uint32_t window = 1;
  // Tokens of one replica, at most. At least window, and no request has more.
  uint32_t max_length = 1;
};

// Requests by replica.
using Batch = std::vector<std::vector<uint32_t>>;

// Not thread-safe: kFirstCome goes on, from batch to batch, with the next replica, and
// kBalanced counts the batches that a request has waited.
class BatchFormer {
 public:
  // `workload` is resolved for max_length and as many micro-batches as replicas, and
  // outlives this.
  BatchFormer(Discipline discipline, const BatchLimits& limits,
              const WorkloadTable& workload);

  // Takes at least one request out of `waiting`, which is not empty. The `overdue`
  // oldest go before all others, in order of arrival.
  Batch Form(WaitingRequests& waiting, size_t overdue);

 private:
  class Room;

  Batch InOrderOfArrival(WaitingRequests& waiting);
  Batch LongestFirst(WaitingRequests& waiting, size_t overdue) const;
  Batch Balanced(WaitingRequests& waiting, size_t overdue);
  std::vector<Document> OldestOfABatch(const WaitingRequests& waiting) const;
  // At least half of the documents' tokens go. A token's delay by a batch is priced at
  // a share of what these documents' tokens take on average.
  ReleaseTerms TermsOf(std::span<const Document> documents) const;

  const Discipline discipline_;
  const BatchLimits limits_;
  const WorkloadTable& workload_;
  size_t next_replica_ = 0;
  // kBalanced: batches formed, and by request how many had been when it was first seen.
  uint64_t batches_ = 0;
  std::vector<uint64_t> first_batch_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_BATCH_FORMER_H_
