#include "gpu_worker/executor/backward_pass.h"

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

// What the first of two ranks does, with two documents cut over them.
testing::WorkLog WorkOn(const AttentionShape& shape, uint32_t head_groups) {
  const std::vector<uint32_t> lengths = {40, 40};
  const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, 2);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, shape);
  RankTensors tensors = MadeMicroBatch(shape, lengths, 1).OfRank(plan, 0);
  testing::WorkLog log;
  testing::RecordedGroup group(log);
  testing::RecordedEngine engine(log);
  const AttentionInput input = tensors.input();
  const AttentionOutput forward = tensors.result();
  const AttentionGradients result = tensors.gradients();
  BackwardPass pass(prepared, input, forward, tensors.output_gradient.data(), result,
                    group, engine, Device::Host());
  EXPECT_THAT(pass.Run(head_groups), IsOk());
  return log;
}

AttentionShape WithHeads(uint32_t heads) {
  AttentionShape shape;
  shape.query_heads = heads;
  shape.kv_heads = heads;
  return shape;
}

TEST(BackwardPassTest, GradientsTravelBackWhileTheNextHeadsAreComputed) {
  EXPECT_THAT(
      WorkOn(WithHeads(3), 3),
      ElementsAre("exchange 0 of 64 floats", "backward 2 heads, 2 tasks",
                  "exchange 1 of 64 floats", "wait 0", "backward 1 heads, 2 tasks",
                  "exchange 2 of 64 floats",  // gradients of the first heads
                  "exchange 3 of 64 floats", "wait 1", "backward 1 heads, 2 tasks",
                  "exchange 4 of 64 floats", "wait 2", "wait 3",
                  "backward 1 heads, 2 tasks", "exchange 5 of 64 floats",
                  "backward 1 heads, 2 tasks", "wait 4", "wait 5"));
}

TEST(BackwardPassTest, LocalWorkIsDoneWhileKeysTravelAndWhileGradientsTravelBack) {
  EXPECT_THAT(
      WorkOn(WithHeads(1), 1),
      ElementsAre("exchange 0 of 64 floats", "backward 1 heads, 1 tasks", "wait 0",
                  "backward 1 heads, 2 tasks", "exchange 1 of 64 floats",
                  "backward 1 heads, 1 tasks", "wait 1"));
}

}  // namespace
}  // namespace evenpack::worker
