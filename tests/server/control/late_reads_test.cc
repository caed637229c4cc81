#include "server/control/late_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "server/control/job_registry.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::DoIngest;
using testing::DoRemove;
using testing::IsOk;
using testing::SmallJob;

// A server that found the job "job" in a store that would not give it.
class LateReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    room_.MakeJob(SmallJob());
    room_.store().FailLoads(1000);
    ASSERT_THAT(jobs_.Recover(), IsOk());
  }
  // How often it was read meanwhile, of looks that are half a second apart.
  int ReadsWithin(seconds time) {
    const int before = room_.store().loads();
    for (milliseconds passed{}; passed < time; passed += milliseconds(500)) {
      room_.clock().Advance(milliseconds(500));
      reads_.ReadDue();
    }
    return room_.store().loads() - before;
  }
  bool IsThere() { return Describe(*jobs_.Find("job").value()).ok(); }

  ControlRoom room_;
  JobRegistry jobs_{room_.environment(), 10};
  LateReads reads_{jobs_, room_.clock()};
};

TEST_F(LateReadsTest, AJobThatCouldNotBeReadIsThereSoonAfterItCan) {
  reads_.ReadDue();
  EXPECT_EQ(ReadsWithin(seconds(1)), 1);
  EXPECT_FALSE(IsThere());
  room_.store().FailLoads(0);
  EXPECT_EQ(ReadsWithin(seconds(2)), 1);
  EXPECT_TRUE(IsThere());
  EXPECT_EQ(ReadsWithin(seconds(600)), 0);
}

TEST_F(LateReadsTest, TriesGrowRarerAndDoNotEnd) {
  reads_.ReadDue();
  // After 1, 3, 7, 15, 31 and 63 s; then once a minute.
  EXPECT_EQ(ReadsWithin(seconds(63)), 6);
  EXPECT_EQ(ReadsWithin(seconds(600)), 10);
  room_.store().FailLoads(0);
  EXPECT_EQ(ReadsWithin(seconds(60)), 1);
  EXPECT_TRUE(IsThere());
}

TEST_F(LateReadsTest, OneThatFailsAnewIsReadAsSoonAsTheFirstTime) {
  reads_.ReadDue();
  EXPECT_EQ(ReadsWithin(seconds(63)), 6);
  room_.store().FailLoads(0);
  ReadsWithin(seconds(60));
  ASSERT_TRUE(IsThere());
  room_.store().FailCommits(2);
  room_.store().FailLoads(1000);
  EXPECT_FALSE(DoIngest(*jobs_.Find("job").value(), 0, {10}).ok());
  reads_.ReadDue();
  room_.store().FailLoads(0);
  EXPECT_EQ(ReadsWithin(seconds(1)), 1);
  EXPECT_TRUE(IsThere());
}

TEST_F(LateReadsTest, OneThatWasThereIsReadSoonOnceSomebodyLooksAtIt) {
  room_.store().FailLoads(0);
  reads_.ReadDue();
  ReadsWithin(seconds(2));
  ASSERT_TRUE(IsThere());
  room_.store().FailCommits(2);
  room_.store().FailLoads(1000);
  EXPECT_FALSE(DoIngest(*jobs_.Find("job").value(), 0, {10}).ok());
  reads_.ReadDue();
  EXPECT_EQ(ReadsWithin(seconds(63)), 6);
  EXPECT_EQ(ReadsWithin(seconds(2)), 0);
  EXPECT_FALSE(IsThere());
  EXPECT_EQ(ReadsWithin(seconds(2)), 1);
  room_.store().FailLoads(0);
  EXPECT_FALSE(IsThere());
  EXPECT_EQ(ReadsWithin(seconds(2)), 1);
  EXPECT_TRUE(IsThere());
}

TEST_F(LateReadsTest, OneThatWasNotMadeIsNotHeld) {
  room_.store().FailCommits(2);
  room_.store().BlockLoads();
  Awaited<absl::StatusOr<JobStatus>> created;
  jobs_.Create("another", CreateJob{SmallJob()}, created);
  room_.store().WaitUntilLoadBlocked();
  const std::weak_ptr<Job> made = jobs_.Find("another").value();
  reads_.ReadDue();
  room_.store().Release();
  EXPECT_FALSE(created.Get().ok());
  room_.AwaitCommits();
  reads_.ReadDue();
  EXPECT_TRUE(made.expired());
}

TEST_F(LateReadsTest, OneThatIsRemovedIsReadNoMore) {
  reads_.ReadDue();
  const std::shared_ptr<Job> job = jobs_.Find("job").value();
  ASSERT_THAT(DoRemove(*job), IsOk());
  EXPECT_EQ(ReadsWithin(seconds(600)), 0);
}

}  // namespace
}  // namespace evenpack
