#include "gpu_worker/executor/received_kv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;

AttentionShape TwoKvHeads() {
  AttentionShape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

const float* Row(const Rows& rows, uint64_t row) {
  return static_cast<const float*>(rows.data) + row * rows.stride;
}

// Each key that a task sees is that of its document and position.
TEST(ReceivedKvTest, HoldsTheKeysOfItsHeadsThatOthersOwn) {
  constexpr uint64_t kSeed = 4;
  const AttentionShape shape = TwoKvHeads();
  const std::vector<uint32_t> lengths = {30, 11};
  const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, 2);
  const MadeMicroBatch made(shape, lengths, kSeed);
  LocalGroup group(2);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const PreparedMicroBatch prepared = PrepareMicroBatch(plan, rank, shape);
      const RankTensors tensors = made.OfRank(plan, rank);
      const AttentionInput input = tensors.input();
      ReceivedKv received(prepared, {1, 1}, ExchangeUse::kKeysForward, input,
                          group.OfRank(rank), Device::Host());
      ASSERT_THAT(received.Wait(), IsOk());
      const AttentionCall call = received.CallFor(prepared.remote_tasks, input);
      EXPECT_EQ(call.shape.kv_heads, 1U);
      ASSERT_FALSE(call.tasks.empty());
      std::vector<float> key(128);
      std::vector<float> value(128);
      for (const AttentionTask& task : call.tasks) {
        for (const KeyRun& run : task.keys) {
          for (uint32_t i = 0; i < run.count; ++i) {
            FillSyntheticRow(kSeed, TensorRole::kKey, task.document, run.position + i,
                             shape.type, key);
            FillSyntheticRow(kSeed, TensorRole::kValue, task.document, run.position + i,
                             shape.type, value);
            const Rows& keys = run.received ? call.received_key : call.own_key;
            const Rows& values = run.received ? call.received_value : call.own_value;
            for (size_t e = 0; e < 64; ++e) {
              ASSERT_EQ(Row(keys, run.row + i)[e], key[64 + e]);
              ASSERT_EQ(Row(values, run.row + i)[e], value[64 + e]);
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ReceivedKvTest, ALocalCallHasAllHeadsAndTheTasksThatNeedNoOthersKeys) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {40}, 2);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, TwoKvHeads());
  const RankTensors tensors = MadeMicroBatch(TwoKvHeads(), {40}, 1).OfRank(plan, 0);
  const HeadView heads(prepared.shape, {0, 2});
  const AttentionCall call = LocalCall(heads, prepared.local_tasks, tensors.input());
  EXPECT_EQ(call.shape, TwoKvHeads());
  EXPECT_EQ(call.tasks.size(), prepared.local_tasks.size());
  EXPECT_EQ(call.query.data, tensors.query.data());
  EXPECT_EQ(call.received_key.data, nullptr);
}

}  // namespace
}  // namespace evenpack::worker
