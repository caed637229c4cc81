#include "gpu_worker/arena/submission_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/gpu_worker/arena/ring.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::OfStep;
using evenpack::testing::Ring;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SubmissionReaderTest, ASubmissionIsReadAsItWasWritten) {
  Ring ring;
  Submission written = OfStep(7);
  written.kind = SubmissionKind::kBackward;
  written.micro_batch = 3;
  written.rows = 99;
  written.tensors[kValueGradient] = 1234;
  ASSERT_THAT(ring.writer.Submit(written), IsOk());
  const auto read = ring.reader.Next();
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->kind, SubmissionKind::kBackward);
  EXPECT_EQ(read->step, 7U);
  EXPECT_EQ(read->micro_batch, 3U);
  EXPECT_EQ(read->rows, 99U);
  EXPECT_EQ(read->tensors[kValueGradient], 1234U);
}

TEST(SubmissionReaderTest, BeginsOnceTheInputsAreReady) {
  Ring ring;
  ASSERT_THAT(ring.writer.Submit(OfStep(1, 5)), IsOk());
  std::atomic<bool> ready = false;
  std::thread worker([&] {
    EXPECT_THAT(ring.reader.Next(), IsOk());
    EXPECT_TRUE(ready);
    ring.reader.Complete(absl::OkStatus());
  });
  ring.writer.SignalReady(4);
  ready = true;
  ring.writer.SignalReady(5);
  EXPECT_THAT(ring.writer.Wait(1), IsOk());
  worker.join();
}

TEST(SubmissionReaderTest, CancelEndsTheWaitForSubmissionsAndForInputs) {
  for (const bool submitted : {false, true}) {
    Ring ring;
    if (submitted) {
      ASSERT_THAT(ring.writer.Submit(OfStep(1, 5)), IsOk());
    }
    std::thread worker([&] {
      EXPECT_THAT(ring.reader.Next(),
                  StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
    });
    ring.reader.Cancel();
    worker.join();
  }
}

TEST(SubmissionReaderTest, ARingThatHoldsMoreThanItCanIsRefused) {
  Ring ring;
  ring.trainers.header().submitted.value = kRingSlots + 1;
  EXPECT_THAT(ring.reader.Next(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("up to 256")));
}

// Whatever the other process writes after it was read.
TEST(SubmissionReaderTest, CountsForItself) {
  Ring ring;
  ASSERT_THAT(ring.writer.Submit(OfStep(1)), IsOk());
  ASSERT_THAT(ring.reader.Next(), IsOk());
  ring.trainers.header().completed.value = 100;
  ring.reader.Complete(absl::OkStatus());
  EXPECT_EQ(ring.reader.completed(), 1U);
  EXPECT_EQ(ring.trainers.header().completed.value, 1U);
}

}  // namespace
}  // namespace evenpack::worker
