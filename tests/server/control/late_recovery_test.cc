// A job that the store does not give at first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/control/job.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::DoIngest;
using testing::DoRemove;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

TEST(LateRecoveryTest, WhatTheDiskDidNotGiveIsThereOnceItDoes) {
  ControlRoom room;
  const auto before = room.MakeJob(SmallJob());
  ASSERT_THAT(DoIngest(*before, 0, StepsOfDocuments(2)), IsOk());
  room.store().FailLoads(2);
  const auto job = std::make_shared<Job>("job", room.environment());
  ASSERT_FALSE(job->Recover().ok());
  EXPECT_TRUE(job->IsToBeRead());
  // No caller has it read: each try may take long.
  EXPECT_FALSE(DoIngest(*job, 16, StepsOfDocuments(1)).ok());
  EXPECT_TRUE(job->ReadAgain());
  EXPECT_FALSE(job->ReadAgain());
  EXPECT_EQ(Describe(*job)->digest, Describe(*before)->digest);
  EXPECT_EQ((*job->FindStep(1))->step, (*before->FindStep(1))->step);
  EXPECT_THAT(DoIngest(*job, 16, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(Describe(*job)->next_step, 3U);
}

TEST(LateRecoveryTest, WhatTheDiskDidNotGiveIsNotReadOnceItIsToGo) {
  ControlRoom room;
  room.MakeJob(SmallJob());
  room.store().FailLoads(1);
  const auto job = std::make_shared<Job>("job", room.environment());
  ASSERT_FALSE(job->Recover().ok());
  room.store().BlockLoads();
  std::thread reader([&job] { job->ReadAgain(); });
  room.store().WaitUntilLoadBlocked();
  const Awaited<absl::Status> removed;
  room.store().Block();
  job->Remove(removed);
  room.store().Release();
  reader.join();
  EXPECT_THAT(removed.Get(), IsOk());
  EXPECT_THAT(Describe(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
  EXPECT_FALSE(job->IsToBeRead());
}

TEST(LateRecoveryTest, ADamagedJobCanBeRemovedAlsoWhereThatFailedBefore) {
  ControlRoom room;
  room.MakeJob(SmallJob());
  room.DamageJob();
  const auto job = std::make_shared<Job>("job", room.environment());
  ASSERT_FALSE(job->Recover().ok());
  EXPECT_FALSE(job->IsToBeRead());
  room.store().FailCommits(2);
  EXPECT_THAT(DoRemove(*job),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(DoRemove(*job), IsOk());
}

}  // namespace
}  // namespace evenpack
