#include "gpu_worker/profile/made_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/attention/cpu_attention.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;

AttentionShape Shape(ElementType type, uint32_t sliding_window = 0) {
  AttentionShape shape;
  shape.type = type;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.sliding_window = sliding_window;
  return shape;
}

// Keeps the tasks of the last call.
class TaskRecorder final : public AttentionEngine {
 public:
  absl::Status Forward(const AttentionCall& call, const ForwardResult&) override {
    tasks.assign(call.tasks.begin(), call.tasks.end());
    return absl::OkStatus();
  }
  absl::Status Backward(const AttentionCall& call, const BackwardInput&,
                        const BackwardResult&) override {
    tasks.assign(call.tasks.begin(), call.tasks.end());
    return absl::OkStatus();
  }
  std::vector<AttentionTask> tasks;
};

TEST(MadeSliceTest, QueriesEndWhereKeysEnd) {
  TaskRecorder engine;
  const auto slice =
      MadeSlice::Make(Shape(ElementType::kFloat32), 100, 300, Device::Host()).value();
  ASSERT_THAT(slice->Forward(engine), IsOk());
  ASSERT_EQ(engine.tasks.size(), 1U);
  EXPECT_EQ(engine.tasks[0].begin, 200U);
  EXPECT_EQ(engine.tasks[0].end, 300U);
  EXPECT_THAT(engine.tasks[0].keys, ElementsAre(KeyRun{0, 300, 0, false}));
  const auto windowed =
      MadeSlice::Make(Shape(ElementType::kFloat32, 51), 100, 300, Device::Host())
          .value();
  ASSERT_THAT(windowed->Backward(engine), IsOk());
  EXPECT_THAT(engine.tasks[0].keys, ElementsAre(KeyRun{150, 150, 150, false}));
  const auto nothing =
      MadeSlice::Make(Shape(ElementType::kFloat32), 0, 0, Device::Host()).value();
  ASSERT_THAT(nothing->Forward(engine), IsOk());
  EXPECT_TRUE(engine.tasks.empty());
}

TEST(MadeSliceTest, TheEngineOfTheProcessorTakesSlicesOfAnyLengthAndType) {
  CpuAttention engine(2);
  for (const ElementType type : kElementTypes) {
    for (const auto& [q_len, kv_len] :
         std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}, {1, 1}, {128, 256}}) {
      const auto slice =
          MadeSlice::Make(Shape(type), q_len, kv_len, Device::Host()).value();
      EXPECT_THAT(slice->Forward(engine), IsOk());
      EXPECT_THAT(slice->Backward(engine), IsOk());
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
