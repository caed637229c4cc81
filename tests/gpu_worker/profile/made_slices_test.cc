#include "gpu_worker/profile/made_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/attention/cpu_attention.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::SizeIs;

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

TEST(MadeSlicesTest, QueriesEndWhereKeysEnd) {
  TaskRecorder engine;
  const auto slice =
      MadeSlices::Make(Shape(ElementType::kFloat32), {100, 300}, Device::Host())
          .value();
  ASSERT_THAT(slice->Forward(engine), IsOk());
  ASSERT_THAT(engine.tasks, SizeIs(1));
  EXPECT_EQ(engine.tasks[0].begin, 200U);
  EXPECT_EQ(engine.tasks[0].end, 300U);
  EXPECT_THAT(engine.tasks[0].keys, ElementsAre(KeyRun{0, 300, 0, false}));
  const auto windowed =
      MadeSlices::Make(Shape(ElementType::kFloat32, 51), {100, 300}, Device::Host())
          .value();
  ASSERT_THAT(windowed->Backward(engine), IsOk());
  EXPECT_THAT(engine.tasks[0].keys, ElementsAre(KeyRun{150, 150, 150, false}));
}

TEST(MadeSlicesTest, SeveralAreOfDocumentsThatLieOneBehindTheOther) {
  TaskRecorder engine;
  const auto slices =
      MadeSlices::Make(Shape(ElementType::kFloat32, 51), {100, 300, 3}, Device::Host())
          .value();
  ASSERT_THAT(slices->Forward(engine), IsOk());
  ASSERT_THAT(engine.tasks, SizeIs(3));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(engine.tasks[i].document, i);
    EXPECT_EQ(engine.tasks[i].begin, 200U);
    EXPECT_EQ(engine.tasks[i].end, 300U);
    EXPECT_EQ(engine.tasks[i].query_row, 100U * i);
    EXPECT_THAT(engine.tasks[i].keys,
                ElementsAre(KeyRun{150, 150, 300U * i + 150, false}));
  }
}

TEST(MadeSlicesTest, TheEngineOfTheProcessorTakesSlicesOfAnyLengthAndType) {
  CpuAttention engine(2);
  for (const ElementType type : kElementTypes) {
    for (const SliceLengths& lengths :
         std::vector<SliceLengths>{{1, 1}, {128, 256}, {3, 7, 5}}) {
      const auto slice = MadeSlices::Make(Shape(type), lengths, Device::Host()).value();
      EXPECT_THAT(slice->Forward(engine), IsOk());
      EXPECT_THAT(slice->Backward(engine), IsOk());
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
