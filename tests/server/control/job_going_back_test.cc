// What producers of a job are told while it goes back to a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/control/job.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

// A job with twenty steps that are durable, of which none is kept that a checkpoint has
// as its last.
class JobGoingBackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(2)), IsOk());
    const Awaited<absl::StatusOr<JobCheckpoint>> taken;
    job_->Checkpoint(1, taken);
    ASSERT_THAT(taken.Get(), IsOk());
    checkpoint_ = taken.Get()->bytes;
    ASSERT_THAT(DoIngest(*job_, 16, StepsOfDocuments(18)), IsOk());
    for (uint64_t step = 0; step < 20; ++step) {
      for (const uint32_t rank : {0U, 1U}) {
        ASSERT_THAT(Do(*job_, Acknowledge{rank, step, 0}), IsOk());
      }
    }
    ASSERT_GT(Describe(*job_)->oldest_step, 2U);
  }

  // Decided, and not committed before Release.
  Awaited<absl::Status> GoBack() {
    room_.store().Block();
    Awaited<absl::Status> done;
    job_->Submit(RewindToCheckpoint{checkpoint_, {}}, done);
    room_.store().WaitUntilBlocked();
    return done;
  }
  // The next of the job as it was.
  Awaited<absl::Status> SendNext() {
    Ingest ingest;
    ingest.stream = "a";
    ingest.first_sequence = 160;
    ingest.lengths = {50};
    Awaited<absl::Status> done;
    job_->Submit(ingest, done);
    return done;
  }

  ControlRoom room_;
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
  std::string checkpoint_;
};

TEST_F(JobGoingBackTest, ABatchThatComesMeanwhileIsToldSoAndNotOfAGap) {
  const Awaited<absl::Status> ended;
  job_->AddProducer(ended);
  const auto back = GoBack();
  const auto sent = SendNext();
  const Awaited<absl::Status> end_of_stream;
  job_->Submit(EndOfStream{"a", 160}, end_of_stream);
  EXPECT_FALSE(sent.IsSet());
  room_.store().Release();
  EXPECT_THAT(back.Get(), IsOk());
  for (const auto& told : {sent, end_of_stream, ended}) {
    EXPECT_THAT(told.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("went back to a checkpoint")));
  }
  // From here on it is one who was told where the stream is.
  EXPECT_THAT(SendNext().Get(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("first_sequence")));
  EXPECT_THAT(DoIngest(*job_, 16, StepsOfDocuments(1)), IsOk());
}

TEST_F(JobGoingBackTest, WhereThatIsNotStoredItIsToldSo) {
  const auto back = GoBack();
  const auto sent = SendNext();
  room_.store().FailCommits(2);
  room_.store().Release();
  EXPECT_EQ(DetailOf(back.Get()).reason, kStoreFailed);
  EXPECT_EQ(DetailOf(sent.Get()).reason, kStoreFailed);
  EXPECT_THAT(SendNext().Get(), IsOk());
}

TEST_F(JobGoingBackTest, OthersAreToldWhatIsWrong) {
  const auto back = GoBack();
  const Awaited<absl::Status> marked;
  job_->Submit(Acknowledge{2, 0, 1}, marked);
  EXPECT_TRUE(marked.IsSet());
  room_.store().Release();
  EXPECT_THAT(back.Get(), IsOk());
  EXPECT_EQ(marked.Get().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace evenpack
