#include "server/service/step_messages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using google::protobuf::util::MessageDifferencer;
using StepPointer = std::shared_ptr<const PublishedStep>;

StepPointer MakeStep(uint64_t index) {
  Step step;
  step.index = index;
  step.micro_batches.resize(4);
  step.micro_batches[0].documents = testing::MakeDocuments({50});
  step.micro_batches[0].tokens = 50;
  const auto spec =
      std::make_shared<const JobSpec>(FromProto(testing::ServiceSpec()).value());
  return Publish(std::move(step), {}, spec, {}).value();
}

grpc::Slice SliceOf(grpc::ByteBuffer bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.TrySingleSlice(&slice).ok());
  return slice;
}

// Where the bytes are, to see whether two buffers share them.
uintptr_t PlaceOf(const grpc::ByteBuffer& bytes) {
  return reinterpret_cast<uintptr_t>(SliceOf(bytes).begin());
}

TEST(StepMessagesTest, TheBytesAreTheResponseThatHoldsTheStep) {
  StepMessages messages(1 << 20);
  const StepPointer step = MakeStep(5);
  const grpc::Slice slice = SliceOf(messages.Get(step, {0, 1}));
  v1::StreamStepsResponse response;
  ASSERT_TRUE(response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  v1::Step expected;
  ToProto(*step, {0, 1}, expected);
  EXPECT_TRUE(MessageDifferencer::Equals(response.step(), expected));
}

TEST(StepMessagesTest, WhoHasTheSameViewSharesTheBytes) {
  StepMessages messages(1 << 20);
  const StepPointer step = MakeStep(0);
  const grpc::ByteBuffer first = messages.Get(step, {0, {}});
  EXPECT_EQ(PlaceOf(messages.Get(step, {0, {}})), PlaceOf(first));
  EXPECT_NE(PlaceOf(messages.Get(step, {1, {}})), PlaceOf(first));
  EXPECT_NE(PlaceOf(messages.Get(step, {0, 0})), PlaceOf(first));
  EXPECT_NE(PlaceOf(messages.Get(MakeStep(0), {0, {}})), PlaceOf(first));
  EXPECT_EQ(PlaceOf(messages.Get(step, {0, {}})), PlaceOf(first));
}

TEST(StepMessagesTest, TheOldestGoWhereTheCapacityIsReached) {
  const StepPointer a = MakeStep(1);
  const StepPointer b = MakeStep(2);
  const StepPointer c = MakeStep(3);
  const size_t size = StepMessages(0).Get(a, {}).Length() + StepMessages::kBytesBeside;
  StepMessages messages(2 * size);
  const grpc::ByteBuffer of_a = messages.Get(a, {});
  const grpc::ByteBuffer of_b = messages.Get(b, {});
  EXPECT_EQ(PlaceOf(messages.Get(a, {})), PlaceOf(of_a));
  const grpc::ByteBuffer of_c = messages.Get(c, {});
  EXPECT_EQ(PlaceOf(messages.Get(b, {})), PlaceOf(of_b));
  EXPECT_EQ(PlaceOf(messages.Get(c, {})), PlaceOf(of_c));
  EXPECT_NE(PlaceOf(messages.Get(a, {})), PlaceOf(of_a)) << "made anew";
}

TEST(StepMessagesTest, AStepIsFreedAlthoughItsBytesAreKept) {
  StepMessages messages(1 << 20);
  StepPointer step = MakeStep(0);
  const std::weak_ptr<const PublishedStep> weak = step;
  const std::weak_ptr<const JobSpec> spec = step->spec;
  messages.Get(step, {});
  step.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(spec.expired());
}

TEST(StepMessagesTest, AStepThatCameAfterOneThatWasFreedGetsItsOwnBytes) {
  StepMessages messages(1 << 20);
  for (uint64_t i = 0; i < 50; ++i) {
    const grpc::Slice slice = SliceOf(messages.Get(MakeStep(i), {}));
    v1::StreamStepsResponse response;
    ASSERT_TRUE(response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    EXPECT_EQ(response.step().index(), i);
  }
}

TEST(StepMessagesTest, ThreadsMayAskAtOnce) {
  StepMessages messages(5000);
  std::vector<StepPointer> steps;
  for (uint64_t i = 0; i < 8; ++i) steps.push_back(MakeStep(i));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 400; ++i) {
        const StepPointer& step = steps[i % steps.size()];
        const grpc::Slice slice =
            SliceOf(messages.Get(step, {static_cast<uint32_t>(i % 2), {}}));
        v1::StreamStepsResponse response;
        response.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
        if (response.step().index() != step->step.index) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace evenpack
