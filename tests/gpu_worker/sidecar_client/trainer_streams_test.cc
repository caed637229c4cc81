#include "gpu_worker/sidecar_client/trainer_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/attach/attach_listener.h"
#include "gpu_worker/cuda/cuda_graph.h"
#include "tests/gpu_worker/attach/recorded_trainers.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::RecordedTrainers;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using evenpack::testing::WaitsFor;
using ::testing::HasSubstr;

// A trainer, and the worker's end of its ring.
class TrainerStreamsTest : public evenpack::testing::FakeDeviceTest {
 protected:
  TrainerStreamsTest() {
    const std::string path = folder_.File("attach.sock");
    listener_ = AttachListener::Start({path, geteuid(), {.max_bytes = 4096}}, trainers_)
                    .value();
    link_.emplace(Attach(path, 4096).value());
    workers_ = trainers_.arena();
    reader_.emplace(*workers_);
    streams_ = TrainerStreams::Create(*link_, device_.context()).value();
    after_ = CudaEvent::Create(device_.context()).value();
  }
  // The stream goes on behind the submission.
  void Follow(uint64_t number) {
    ASSERT_THAT(streams_->Precede(number, device_.compute()), IsOk());
    ASSERT_THAT(after_->Record(device_.compute()), IsOk());
  }

  const ScratchDirectory folder_;
  FakeDevice device_;
  RecordedTrainers trainers_;
  std::unique_ptr<AttachListener> listener_;
  std::optional<SidecarLink> link_;
  std::shared_ptr<Arena> workers_;
  std::optional<SubmissionReader> reader_;
  std::unique_ptr<TrainerStreams> streams_;
  std::unique_ptr<CudaEvent> after_;
};

TEST_F(TrainerStreamsTest, AStreamGoesOnBehindASubmission) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  ASSERT_THAT(link_->EndStep(1), IsOk());
  Follow(2);
  ASSERT_THAT(reader_->Next(), IsOk());
  reader_->Complete(absl::OkStatus());
  EXPECT_FALSE(after_->IsReached().value());
  ASSERT_THAT(reader_->Next(), IsOk());
  reader_->Complete(absl::OkStatus());
  EXPECT_THAT(after_->Await(), IsOk());
  // One that is done holds nothing up.
  Follow(1);
  EXPECT_THAT(after_->Await(), IsOk());
}

TEST_F(TrainerStreamsTest, ASubmissionBeginsBehindTheStream) {
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  EXPECT_THAT(streams_->SignalReadyAfter(device_.compute(), 7), IsOk());
  ASSERT_THAT(link_->Forward(1, 0, 1, {}, 7), IsOk());
  EXPECT_EQ(workers_->header().ready.value, 0U);
  gate.Open();
  EXPECT_THAT(reader_->Next(), IsOk());
  EXPECT_EQ(workers_->header().ready.value, 7U);
}

// As of threads, each in a stream of its own.
TEST_F(TrainerStreamsTest, SubmissionsOfSeveralStreamsBeginInTheirOrder) {
  const auto other =
      CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  EXPECT_THAT(streams_->SignalReadyAfter(device_.compute(), 1), IsOk());
  ASSERT_THAT(link_->Forward(1, 0, 1, {}, 1), IsOk());
  EXPECT_THAT(streams_->SignalReadyAfter(other->handle(), 2), IsOk());
  ASSERT_THAT(link_->Forward(1, 1, 1, {}, 2), IsOk());
  EXPECT_TRUE(WaitsFor(gate, [&] { EXPECT_THAT(other->Synchronize(), IsOk()); }));
  device_.Synchronize();
  EXPECT_EQ(workers_->header().ready.value, 2U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(reader_->Next(), IsOk());
    reader_->Complete(absl::OkStatus());
  }
}

TEST_F(TrainerStreamsTest, AStreamGoesOnWhereTheWorkerIsGone) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  Follow(1);
  listener_.reset();
  EXPECT_THAT(after_->Await(), IsOk());
  EXPECT_THAT(link_->Wait(1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST_F(TrainerStreamsTest, AStreamGoesOnWhereTheSessionHasEnded) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  Follow(1);
  reader_->End(absl::FailedPreconditionError("reconfigured"));
  EXPECT_THAT(after_->Await(), IsOk());
  EXPECT_EQ(link_->Wait(1), absl::FailedPreconditionError("reconfigured"));
}

// Of each of them: they read a number that goes with it.
TEST_F(TrainerStreamsTest, ItsEndWaitsForStreamsThatStillWait) {
  const auto other =
      CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  Follow(1);
  ASSERT_THAT(streams_->Precede(1, other->handle()), IsOk());
  EXPECT_TRUE(WaitsFor(gate, [&] { streams_ = nullptr; }));
  device_.Synchronize();
}

// By what it says of them it uses the link.
TEST_F(TrainerStreamsTest, ItsEndWaitsForStreamsThatMakeInputs) {
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  ASSERT_THAT(streams_->SignalReadyAfter(device_.compute(), 7), IsOk());
  EXPECT_TRUE(WaitsFor(gate, [&] { streams_ = nullptr; }));
  EXPECT_EQ(workers_->header().ready.value, 7U);
}

// It could not be waited for in the end.
TEST_F(TrainerStreamsTest, AStreamIsGivenNothingWhereThereIsNoEvent) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  fakeCudaRefuseEvents(true);
  const auto refused =
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("to make an event"));
  EXPECT_THAT(streams_->SignalReadyAfter(device_.compute(), 7), refused);
  EXPECT_THAT(streams_->Precede(1, device_.compute()), refused);
  device_.Synchronize();
  EXPECT_EQ(workers_->header().ready.value, 0U);
}

TEST_F(TrainerStreamsTest, EventsAreUsedAgain) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  ASSERT_THAT(reader_->Next(), IsOk());
  reader_->Complete(absl::OkStatus());
  size_t live = 0;
  for (int i = 1; i <= 5; ++i) {
    Follow(1);
    device_.Synchronize();
    if (i == 2) live = fakeCudaLive();
  }
  EXPECT_EQ(fakeCudaLive(), live);
}

TEST_F(TrainerStreamsTest, ASubmissionThatWasNotMadeIsRefused) {
  EXPECT_THAT(streams_->Precede(1, device_.compute()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("submission 1 is not accepted; accepted: up to 0")));
}

TEST_F(TrainerStreamsTest, AStreamThatTheTrainerCapturesIsRefused) {
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("is being captured for a CUDA graph; accepted: "));
  const auto captured = [&](auto give) {
    return CudaGraph::Capture(device_.context(), device_.compute(), give).status();
  };
  EXPECT_THAT(
      captured([&] { return streams_->SignalReadyAfter(device_.compute(), 7); }),
      refused);
  EXPECT_THAT(captured([&] { return streams_->Precede(1, device_.compute()); }),
              refused);
  device_.Synchronize();
  EXPECT_EQ(workers_->header().ready.value, 0U);
}

}  // namespace
}  // namespace evenpack::worker
