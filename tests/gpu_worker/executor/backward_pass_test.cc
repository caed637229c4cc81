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

TEST(BackwardPassTest, GradientsTravelBackWhileTheNextHeadsAreComputed) {
  AttentionShape shape;
  shape.query_heads = 3;
  shape.kv_heads = 3;
  const ShardPlan plan = Planned(Sharding::kPerSequence, {40}, 2);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, shape);
  RankTensors tensors = MadeMicroBatch(shape, {40}, 1).OfRank(plan, 0);
  testing::WorkLog log;
  testing::RecordedGroup group(log);
  testing::RecordedEngine engine(log);
  const AttentionInput input = tensors.input();
  const AttentionOutput forward = tensors.result();
  const AttentionGradients result = tensors.gradients();
  BackwardPass pass(prepared, input, forward, tensors.output_gradient.data(), result,
                    group, engine, Device::Host());
  EXPECT_THAT(pass.Run(3), IsOk());
  EXPECT_THAT(
      log, ElementsAre("exchange 0 of 64 floats", "backward 3 heads, 1 tasks",
                       "exchange 1 of 64 floats", "wait 0", "backward 1 heads, 1 tasks",
                       "exchange 2 of 64 floats",  // gradients of the first heads
                       "exchange 3 of 64 floats", "wait 1", "backward 1 heads, 1 tasks",
                       "exchange 4 of 64 floats", "wait 2", "wait 3",
                       "backward 1 heads, 1 tasks", "exchange 5 of 64 floats", "wait 4",
                       "wait 5"));
}

}  // namespace
}  // namespace evenpack::worker
