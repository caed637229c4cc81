#include "gpu_worker/cuda/cuda_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "gpu_worker/cuda/cuda_stream.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Change {
  int* to = nullptr;
  int factor = 1;
  int term = 0;
};

void Make(const void* argument) {
  Change change;
  std::memcpy(&change, argument, sizeof(change));
  *change.to = *change.to * change.factor + change.term;
}

class CudaGraphTest : public evenpack::testing::FakeDeviceTest {
 protected:
  CudaGraphTest() { device_.Write(std::vector<int>{0, 0}, numbers_); }

  using Launch = decltype(&fakeCudaLaunch);
  absl::Status Give(int i, int factor, int term, Launch launch = &fakeCudaLaunch) {
    const CurrentContext current(*device_.context());
    const Change change = {static_cast<int*>(numbers_.data()) + i, factor, term};
    return device_.context()->Check(
        launch(captured_->handle(), &Make, &change, sizeof(change)), "to change");
  }
  absl::Status Add(int i, int number) { return Give(i, 1, number); }
  absl::StatusOr<std::unique_ptr<CudaGraph>> Captured(
      absl::FunctionRef<absl::Status()> give, void* filled = nullptr) {
    return CudaGraph::Capture(device_.context(), captured_->handle(), give, filled);
  }
  std::vector<int> Numbers() { return device_.Read<int>(numbers_); }

  FakeDevice device_;
  CudaBuffer numbers_ = device_.Take(2 * sizeof(int));
  const std::unique_ptr<CudaStream> captured_ =
      CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
};

TEST_F(CudaGraphTest, AllIsDoneWithEachLaunchAndNothingBefore) {
  const auto graph = Captured([this] {
                       absl::Status status = Add(0, 1);
                       return status.ok() ? Add(1, 10) : status;
                     }).value();
  EXPECT_THAT(captured_->Synchronize(), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(0, 0));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(graph->Launch(device_.compute()), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(3, 30));
}

TEST_F(CudaGraphTest, WhatWasLaunchedIsDoneThoughTheGraphIsGone) {
  evenpack::testing::StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  auto graph = Captured([this] { return Add(0, 1); }).value();
  EXPECT_THAT(graph->Launch(device_.compute()), IsOk());
  graph = nullptr;
  gate.Open();
  EXPECT_THAT(Numbers(), ElementsAre(1, 0));
}

// What begins early ends at once here, before what it doesn't wait for has begun.
TEST_F(CudaGraphTest, WhatComesAfterAnEarlyKernelAwaitsWhatCameBeforeIt) {
  const auto graph = Captured([this] {
                       absl::Status status = Add(0, 1);
                       if (status.ok()) status = Give(1, 1, 10, &fakeCudaLaunchEarly);
                       return status.ok() ? Give(0, 3, 0) : status;
                     }).value();
  for (int i = 0; i < 2; ++i) EXPECT_THAT(graph->Launch(device_.compute()), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre((1 * 3 + 1) * 3, 20));
}

// The second number is 0 whenever one follows another, early or not.
TEST_F(CudaGraphTest, MemoryMayBeFilledBetweenWhatFollowsEachOther) {
  auto* const filled = static_cast<int*>(numbers_.data()) + 1;
  const auto graph = Captured(
                         [this] {
                           absl::Status status = Add(1, 7);
                           if (status.ok()) {
                             status = Give(0, 1, 1, &fakeCudaLaunchEarly);
                           }
                           if (status.ok()) status = Add(1, 10);
                           return status.ok() ? Give(0, 3, 0) : status;
                         },
                         filled)
                         .value();
  EXPECT_THAT(graph->Launch(device_.compute()), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(3, 0));
  const auto last = Captured(
                        [this] {
                          absl::Status status = Add(1, 7);
                          return status.ok() ? Add(1, 10) : status;
                        },
                        filled)
                        .value();
  EXPECT_THAT(last->Launch(device_.compute()), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(3, 10));
}

TEST_F(CudaGraphTest, FilledMemoryIsTakenAndCopiesAreRefused) {
  const cuda::Functions& call = device_.context()->functions();
  const auto to = reinterpret_cast<cuda::DevicePointer>(numbers_.data());
  const auto graph = Captured([&] {
    return device_.context()->Check(
        call.cuMemsetD8Async(to, 1, sizeof(int), captured_->handle()), "to fill");
  });
  ASSERT_THAT(graph, IsOk());
  EXPECT_THAT((*graph)->Launch(device_.compute()), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(0x01010101, 0));

  const int number = 7;
  EXPECT_THAT(
      Captured([&] {
        return device_.context()->Check(
            call.cuMemcpyHtoDAsync_v2(to, &number, sizeof(number), captured_->handle()),
            "to copy");
      }),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("a node of type 1")));
}

TEST_F(CudaGraphTest, ADriverThatCanNotTellAGraphsEdgesHasNone) {
  fakeCudaSetVersion(kOldestDriverOfGraphs - 10);
  const FakeDevice older;
  EXPECT_THAT(CudaGraph::Capture(older.context(), captured_->handle(),
                                 [] { return absl::InternalError("not reached"); }),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("accepted: one for version 12030")));
}

TEST_F(CudaGraphTest, AFailureWhileItIsCapturedLeavesTheStreamAsItWas) {
  EXPECT_THAT(Captured([this] {
                absl::Status status = Add(0, 1);
                return status.ok() ? absl::UnavailableError("no more") : status;
              }),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no more")));
  EXPECT_THAT(Add(1, 10), IsOk());
  EXPECT_THAT(captured_->Synchronize(), IsOk());
  EXPECT_THAT(Numbers(), ElementsAre(0, 10));
}

TEST_F(CudaGraphTest, AStreamThatIsBeingCapturedIsRefused) {
  EXPECT_THAT(Captured([this] {
                EXPECT_THAT(Captured([] { return absl::OkStatus(); }),
                            StatusIs(absl::StatusCode::kInternal,
                                     HasSubstr("to capture a stream")));
                return absl::OkStatus();
              }),
              IsOk());
}

}  // namespace
}  // namespace evenpack::worker
