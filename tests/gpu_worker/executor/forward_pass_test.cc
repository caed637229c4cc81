#include "gpu_worker/executor/forward_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/executor/recorded_work.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;

AttentionShape ThreeHeads() {
  AttentionShape shape;
  shape.query_heads = 3;
  shape.kv_heads = 3;
  return shape;
}

testing::WorkLog Forward(const ShardPlan& plan, uint32_t head_groups) {
  const std::vector<uint32_t> lengths = {static_cast<uint32_t>(plan.tokens())};
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, ThreeHeads());
  RankTensors tensors = MadeMicroBatch(ThreeHeads(), lengths, 1).OfRank(plan, 0);
  testing::WorkLog log;
  testing::RecordedGroup group(log);
  testing::RecordedEngine engine(log);
  const AttentionInput input = tensors.input();
  const AttentionOutput result = tensors.result();
  ForwardPass pass(prepared, input, result, group, engine, Device::Host());
  EXPECT_THAT(pass.Run(head_groups), IsOk());
  return log;
}

TEST(ForwardPassTest, WhatComesNextTravelsWhileTheLastIsComputed) {
  // The front slice sees own keys alone.
  const ShardPlan plan = Planned(Sharding::kPerSequence, {40}, 2);
  EXPECT_THAT(
      Forward(plan, 3),
      ElementsAre("exchange 0 of 64 floats", "forward 3 heads, 1 tasks",
                  "exchange 1 of 64 floats", "wait 0", "forward 1 heads, 1 tasks",
                  "exchange 2 of 64 floats", "wait 1", "forward 1 heads, 1 tasks",
                  "wait 2", "forward 1 heads, 1 tasks"));
  EXPECT_THAT(Forward(plan, 1),
              ElementsAre("exchange 0 of 192 floats", "forward 3 heads, 1 tasks",
                          "wait 0", "forward 3 heads, 1 tasks"));
}

TEST(ForwardPassTest, ARankThatNeedsNothingStillTakesPart) {
  // The first rank has all it sees, the second has not.
  const ShardPlan plan = Planned(Sharding::kContiguous, {40}, 2);
  EXPECT_THAT(Forward(plan, 2),
              ElementsAre("exchange 0 of 64 floats", "forward 3 heads, 2 tasks",
                          "exchange 1 of 128 floats", "wait 0", "wait 1"));
}

}  // namespace
}  // namespace evenpack::worker
