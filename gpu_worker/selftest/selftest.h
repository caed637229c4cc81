// Whether this machine computes what attention is: random micro-batches over groups of
// ranks, forward and backward, against the definition in double precision.
#ifndef EVENPACK_GPU_WORKER_SELFTEST_SELFTEST_H_
#define EVENPACK_GPU_WORKER_SELFTEST_SELFTEST_H_

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::worker {

struct SelftestOptions {
  // Of all that is drawn; a case depends on it and its own number alone.
  uint64_t seed = 1;
  uint64_t first_case = 0;
  uint64_t cases = 200;
  // Of a group; 1 <= min_ranks <= max_ranks.
  uint32_t min_ranks = 1;
  uint32_t max_ranks = 8;
  // Longest document, at least 1.
  uint32_t max_length = 300;
  // At least one.
  std::vector<ElementType> types = {std::begin(kElementTypes), std::end(kElementTypes)};
  // What all errors stay below.
  double (*accepted)(ElementType type) = AcceptedError;
};

// Not of adaptive.
absl::string_view NameOf(Sharding sharding);

struct SelftestCase {
  std::vector<uint32_t> lengths;
  AttentionShape shape;
  // Never adaptive.
  Sharding sharding = Sharding::kPerSequence;
  uint32_t context_parallel = 1;
  uint32_t pad_to = 0;
  uint32_t head_groups = 1;

  ShardPlan Plan() const {
    return Planned(sharding, lengths, context_parallel, pad_to);
  }
  // In a line.
  std::string Text() const;
};

SelftestCase DrawCase(const SelftestOptions& options, uint64_t number);

// Executes a case, forward and backward, and compares what it can see of the results.
using CaseRunner = std::function<absl::StatusOr<AttentionErrors>(
    const SelftestCase& drawn, const MadeMicroBatch& made)>;

using MakeEngine = std::function<std::unique_ptr<AttentionEngine>()>;
// All ranks, each in a thread of this process with an engine of its own.
CaseRunner OnThreads(MakeEngine make_engine);
// One rank of a group, whose others do the same. Both must outlive it.
CaseRunner OnRank(Communicator& communicator, AttentionEngine& engine);

// The first of these: `tensors` has one element a rank.
absl::Status RunGroup(const ShardPlan& plan, const AttentionShape& shape,
                      uint32_t head_groups, const MakeEngine& make_engine,
                      std::vector<RankTensors>& tensors);

// By element type, of the cases that had it.
struct SelftestFigures {
  uint64_t cases = 0;
  AttentionErrors errors;
};
struct SelftestReport {
  std::vector<SelftestFigures> by_type;
  // By sharding and by number of ranks, how many cases.
  std::vector<uint64_t> by_sharding;
  std::vector<uint64_t> by_ranks;
  // By head size, by query heads that share a KV head, and by head groups likewise.
  std::map<uint32_t, uint64_t> by_head_size;
  std::map<uint32_t, uint64_t> by_sharing_heads;
  std::map<uint32_t, uint64_t> by_head_groups;
  // Cases with a sliding window, and with rows of padding.
  uint64_t windowed = 0;
  uint64_t padded = 0;
  uint64_t tokens = 0;
};

// Stops at the first case that fails. INTERNAL with its text and number: an error is
// above what is accepted, or the runner's own. `done(cases)` after each case.
absl::Status RunSelftest(const SelftestOptions& options, const CaseRunner& run,
                         const std::function<void(uint64_t)>& done,
                         SelftestReport& report);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SELFTEST_SELFTEST_H_
