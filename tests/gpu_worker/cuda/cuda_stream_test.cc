#include "gpu_worker/cuda/cuda_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::HasSubstr;

class CudaStreamTest : public evenpack::testing::FakeDeviceTest {
 protected:
  std::unique_ptr<CudaStream> Make() {
    return CudaStream::Create(device_.context(), CudaStream::Priority::kGreatest)
        .value();
  }
  std::unique_ptr<CudaEvent> Event() {
    return CudaEvent::Create(device_.context()).value();
  }

  FakeDevice device_;
};

TEST_F(CudaStreamTest, AnEventIsReachedWhenWhatCameBeforeIsDone) {
  const auto stream = Make();
  const auto event = Event();
  StreamGate gate;
  gate.Close(*device_.context(), stream->handle());
  ASSERT_THAT(event->Record(stream->handle()), IsOk());
  EXPECT_FALSE(event->IsReached().value());
  gate.Open();
  EXPECT_THAT(event->Await(), IsOk());
  EXPECT_TRUE(event->IsReached().value());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST_F(CudaStreamTest, BothAreAwaitedBesideAGraphThatAnotherThreadCaptures) {
  const auto captured = Make();
  const auto event = Event();
  ASSERT_THAT(event->Record(device_.compute()), IsOk());
  const cuda::Functions& call = device_.context()->functions();
  const CurrentContext current(*device_.context());
  ASSERT_EQ(call.cuStreamBeginCapture_v2(captured->handle(), cuda::kCaptureGlobal),
            cuda::kSuccess);
  std::thread([&] {
    EXPECT_THAT(event->Await(), IsOk());
    EXPECT_THAT(Synchronize(*device_.context(), device_.compute()), IsOk());
  }).join();
  cuda::Graph graph = nullptr;
  EXPECT_EQ(call.cuStreamEndCapture(captured->handle(), &graph), cuda::kSuccess);
  if (graph != nullptr) call.cuGraphDestroy(graph);
}

TEST_F(CudaStreamTest, TimeIsToldBetweenEventsThatAreTimed) {
  const auto untimed = Event();
  const auto timed =
      CudaEvent::Create(device_.context(), CudaEvent::Use::kTiming).value();
  ASSERT_THAT(untimed->Record(device_.compute()), IsOk());
  ASSERT_THAT(timed->Record(device_.compute()), IsOk());
  device_.Synchronize();
  EXPECT_EQ(timed->Since(*timed).value(), 0);
  EXPECT_THAT(timed->Since(*untimed).status(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("to tell the time between events")));
}

TEST_F(CudaStreamTest, StreamsGoOnBesideEachOtherUnlessOrdered) {
  const auto slow = Make();
  const auto fast = Make();
  StreamGate gate;
  gate.Close(*device_.context(), slow->handle());
  EXPECT_THAT(fast->Synchronize(), IsOk());
  StreamOrder order(device_.context());
  ASSERT_THAT(order.Order(slow->handle(), fast->handle()), IsOk());
  const auto event = Event();
  ASSERT_THAT(event->Record(fast->handle()), IsOk());
  EXPECT_FALSE(event->IsReached().value());
  gate.Open();
  EXPECT_THAT(fast->Synchronize(), IsOk());
}

TEST_F(CudaStreamTest, AnOrderThatIsUsedAgainKeepsWhatItOrderedBefore) {
  const auto slow = Make();
  const auto fast = Make();
  const auto other = Make();
  StreamOrder order(device_.context());
  StreamGate gate;
  gate.Close(*device_.context(), slow->handle());
  ASSERT_THAT(order.Order(slow->handle(), fast->handle()), IsOk());
  const size_t live = fakeCudaLive();
  // Recorded anew, the event is reached.
  ASSERT_THAT(order.Order(other->handle(), device_.compute()), IsOk());
  EXPECT_EQ(fakeCudaLive(), live);
  device_.Synchronize();
  const auto event = Event();
  ASSERT_THAT(event->Record(fast->handle()), IsOk());
  EXPECT_FALSE(event->IsReached().value());
  gate.Open();
  EXPECT_THAT(fast->Synchronize(), IsOk());
}

}  // namespace
}  // namespace evenpack::worker
