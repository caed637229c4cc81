#include "gpu_worker/arena/submission_writer.h"

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

// The worker's part: takes all that there are until it is cancelled. Steps that are a
// multiple of `fails` fail.
class Echo {
 public:
  explicit Echo(Ring& ring, uint64_t fails = ~uint64_t{0})
      : ring_(ring), thread_([this, fails] {
          for (;;) {
            const auto submission = ring_.reader.Next();
            if (!submission.ok()) return;
            EXPECT_EQ(submission->step, ring_.reader.completed() + 1);
            ring_.reader.Complete(
                submission->step % fails == 0
                    ? absl::InternalError(absl::StrCat("step ", submission->step))
                    : absl::OkStatus());
          }
        }) {}
  ~Echo() {
    ring_.reader.Cancel();
    thread_.join();
  }

 private:
  Ring& ring_;
  std::thread thread_;
};

TEST(SubmissionWriterTest, SubmissionsAreDoneInOrderHoweverMany) {
  Ring ring;
  const Echo worker(ring);
  for (uint64_t i = 1; i <= 3 * kRingSlots; ++i) {
    const auto number = ring.writer.Submit(OfStep(i));
    ASSERT_THAT(number, IsOk());
    EXPECT_EQ(*number, i);
  }
  EXPECT_THAT(ring.writer.Wait(3 * kRingSlots), IsOk());
  EXPECT_EQ(ring.reader.completed(), 3 * kRingSlots);
  const auto [started, finished] = ring.writer.TimesNs(3 * kRingSlots);
  EXPECT_GT(started, 0);
  EXPECT_GE(finished, started);
}

TEST(SubmissionWriterTest, DoesNotWaitForWhatItEnqueues) {
  Ring ring;
  for (uint64_t i = 1; i <= kRingSlots; ++i) {
    ASSERT_THAT(ring.writer.Submit(OfStep(i)), IsOk());
  }
  EXPECT_EQ(ring.reader.completed(), 0U);
  const Echo worker(ring);
  EXPECT_THAT(ring.writer.Wait(kRingSlots), IsOk());
}

TEST(SubmissionWriterTest, TellsTheFirstErrorAndTellsItOnce) {
  Ring ring;
  const Echo worker(ring, 10);
  for (uint64_t i = 1; i <= 2 * kRingSlots; ++i) {
    ASSERT_THAT(ring.writer.Submit(OfStep(i)), IsOk());
  }
  EXPECT_THAT(ring.writer.Wait(2 * kRingSlots),
              StatusIs(absl::StatusCode::kInternal, "step 10"));
  EXPECT_THAT(ring.writer.Wait(2 * kRingSlots), IsOk());
}

TEST(SubmissionWriterTest, AnErrorIsNotToldOfThoseBeforeIt) {
  Ring ring;
  const Echo worker(ring, 3);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_THAT(ring.writer.Submit(OfStep(i)), IsOk());
  EXPECT_THAT(ring.writer.Wait(2), IsOk());
  EXPECT_THAT(ring.writer.Wait(3), StatusIs(absl::StatusCode::kInternal, "step 3"));
}

TEST(SubmissionWriterTest, WhatWasNotSubmittedIsNotWaitedFor) {
  Ring ring;
  EXPECT_THAT(ring.writer.Wait(0), IsOk());
  EXPECT_THAT(ring.writer.Wait(1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("submission 1")));
}

TEST(SubmissionWriterTest, AWorkerThatIsGoneIsNotWaitedFor) {
  Ring ring;
  ASSERT_THAT(ring.writer.Submit(OfStep(1)), IsOk());
  ring.worker_is_gone = true;
  EXPECT_THAT(ring.writer.Wait(1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
  for (uint64_t i = 2; i <= kRingSlots; ++i) {
    ASSERT_THAT(ring.writer.Submit(OfStep(i)), IsOk());
  }
  EXPECT_THAT(ring.writer.Submit(OfStep(kRingSlots + 1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(SubmissionWriterTest, AWorkerThatHasEndedSaysWhy) {
  Ring ring;
  ASSERT_THAT(ring.writer.Submit(OfStep(1)), IsOk());
  std::thread worker(
      [&] { ring.reader.End(absl::FailedPreconditionError("the rank was taken")); });
  EXPECT_THAT(ring.writer.Wait(1),
              StatusIs(absl::StatusCode::kFailedPrecondition, "the rank was taken"));
  worker.join();
}

}  // namespace
}  // namespace evenpack::worker
