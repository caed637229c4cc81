// The steps of a made-up job, as a server would send them.
#ifndef EVENPACK_TESTS_CLIENT_CPP_TEST_HISTORY_H_
#define EVENPACK_TESTS_CLIENT_CPP_TEST_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/step.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::testing {

// A plan of whole documents of these lengths; ends the test program where there is
// none.
ShardPlan MakePlan(Sharding sharding, const std::vector<uint32_t>& lengths,
                   uint32_t context_parallel, uint32_t pad_to = 0);

// Documents numbered from `first_sequence` in a micro-batch whose padding is the
// plan's.
MicroBatch MakeMicroBatch(const std::vector<uint32_t>& lengths, const ShardPlan& plan,
                          uint64_t first_sequence = 0);

v1::MicroBatch ToMessage(const MicroBatch& micro_batch, const ShardPlan& plan,
                         uint32_t index, std::optional<uint32_t> cp_rank);

// DP = 2 ranks of two micro-batches, CP = 2, per document without padding.
// Micro-batches have 0 to 3 documents.
class TestHistory {
 public:
  // A different `seed` is a different history from step `differs_from` on, decided in
  // epoch `seed`.
  explicit TestHistory(uint64_t steps, uint64_t seed = 0, uint64_t differs_from = 0);

  uint64_t size() const { return steps_.size(); }
  // Of step index - 1.
  Digest128 DigestBefore(uint64_t index) const;
  v1::JobSpec spec() const;

  // What the server sends to a rank.
  v1::StreamStepsResponse Subscribed(uint64_t from_step,
                                     uint64_t durable_steps = 0) const;
  v1::StreamStepsResponse Step(uint64_t index, uint32_t dp_rank = 0,
                               std::optional<uint32_t> cp_rank = std::nullopt) const;
  v1::StreamStepsResponse Drained() const;
  static v1::StreamStepsResponse DurableMarked(uint64_t durable_steps);

 private:
  uint64_t epoch_;
  std::vector<evenpack::Step> steps_;
  std::vector<std::vector<ShardPlan>> plans_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_TEST_HISTORY_H_
