#include "server/control/job_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::DoIngest;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::SmallJob;
using testing::StatusIs;

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<Job>>& jobs) {
  std::vector<std::string> names;
  for (const auto& job : jobs) names.push_back(job->name());
  return names;
}

class JobRegistryTest : public ::testing::Test {
 protected:
  Awaited<absl::StatusOr<JobStatus>> StartCreate(const std::string& name) {
    Awaited<absl::StatusOr<JobStatus>> done;
    registry_.Create(name, CreateJob{SmallJob()}, done);
    return done;
  }
  Awaited<absl::Status> StartRemove(const std::string& name) {
    Awaited<absl::Status> done;
    registry_.Remove(name, done);
    return done;
  }
  absl::Status Create(const std::string& name) {
    return StartCreate(name).Get().status();
  }
  absl::Status Remove(const std::string& name) { return StartRemove(name).Get(); }

  ControlRoom room_;
  JobRegistry registry_{room_.environment(), 3};
};

TEST_F(JobRegistryTest, AJobIsFoundByItsNameUntilItIsRemoved) {
  ASSERT_THAT(Create("a"), IsOk());
  const auto job = registry_.Find("a").value();
  EXPECT_THAT(DoIngest(*job, 0, {10}), IsOk());
  ASSERT_THAT(Remove("a"), IsOk());
  EXPECT_THAT(registry_.Find("a").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  EXPECT_EQ(DetailOf(registry_.Find("a").status()).reason, "JOB_NOT_FOUND");
  EXPECT_THAT(Remove("a"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  EXPECT_THAT(room_.memory().Jobs().value(), IsEmpty());
  // Another may have the name, and is another.
  ASSERT_THAT(Create("a"), IsOk());
  EXPECT_NE(registry_.Find("a").value(), job);
  EXPECT_EQ(Describe(*registry_.Find("a").value())->streams[0].next_sequence, 0U);
  EXPECT_THAT(DoIngest(*job, 1, {10}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
}

TEST_F(JobRegistryTest, AcceptsNamesThatSuitPathsAndLabels) {
  for (const std::string& name : {std::string("a"), std::string("0"),
                                  std::string("Run-7.b_c"), std::string(128, 'x')}) {
    EXPECT_THAT(CheckJobName(name), IsOk());
  }
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string(".a"), std::string("_a"),
        std::string("a b"), std::string("a/b"), std::string("\xc3\xa4"),
        std::string("a\0b", 3), std::string("a\n"), std::string(129, 'x')}) {
    const absl::Status status = Create(name);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not accepted; accepted: 1 to 128 characters of "
                                   "a-z, A-Z, 0-9, '.', '_' and '-', the first a "
                                   "letter or digit")));
    EXPECT_EQ(RefusedField(status), "name");
  }
}

TEST_F(JobRegistryTest, ANameIsTakenOnce) {
  ASSERT_THAT(Create("a"), IsOk());
  const absl::Status taken = Create("a");
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kAlreadyExists, "name: 'a' is taken"));
  EXPECT_EQ(DetailOf(taken), (StatusDetail{"JOB_EXISTS", {{"job", "a"}}}));
}

TEST_F(JobRegistryTest, ThereAreAsManyJobsAsTheServerHolds) {
  for (const char* name : {"a", "b", "c"}) ASSERT_THAT(Create(name), IsOk());
  const absl::Status full = Create("d");
  EXPECT_THAT(full, StatusIs(absl::StatusCode::kResourceExhausted,
                             "jobs: there are 3, as many as this server holds"));
  EXPECT_EQ(DetailOf(full), (StatusDetail{"TOO_MANY_JOBS", {{"limit", "3"}}}));
  ASSERT_THAT(Remove("b"), IsOk());
  EXPECT_THAT(Create("d"), IsOk());
}

TEST_F(JobRegistryTest, AJobThatIsRefusedOrNotStoredLeavesItsNameFree) {
  JobSpec bad = SmallJob();
  bad.window = 0;
  const Awaited<absl::StatusOr<JobStatus>> refused;
  registry_.Create("a", CreateJob{bad}, refused);
  EXPECT_THAT(refused.Get().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window: 0")));
  EXPECT_THAT(NamesOf(registry_.ByAge()), IsEmpty());
  room_.store().FailCommits(2);
  EXPECT_THAT(Create("a"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_THAT(NamesOf(registry_.ByAge()), IsEmpty());
  EXPECT_THAT(Create("a"), IsOk());
}

TEST_F(JobRegistryTest, WhoFoundAJobThatWasNotMadeHasNone) {
  room_.store().LoseAnswer();
  room_.store().Block();
  const auto created = StartCreate("a");
  room_.store().WaitUntilBlocked();
  const auto found = registry_.Find("a").value();
  room_.store().Release();
  EXPECT_THAT(created.Get().status(), StatusIs(absl::StatusCode::kUnavailable,
                                               HasSubstr("the answer is lost")));
  // It stands after all, and is led by what reads it.
  ASSERT_THAT(room_.memory().Load("a"), IsOk());
  EXPECT_THAT(Follower(found, SubscribeRequest()).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  ASSERT_THAT(registry_.Adopt("a"), IsOk());
  EXPECT_THAT(Follower(registry_.Find("a").value(), SubscribeRequest()).status(),
              IsOk());
}

TEST_F(JobRegistryTest, ARemovalThatIsNotStoredLeavesTheJob) {
  ASSERT_THAT(Create("a"), IsOk());
  room_.store().FailCommits(2);
  EXPECT_THAT(Remove("a"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(Describe(*registry_.Find("a").value()), IsOk());
  EXPECT_THAT(Remove("a"), IsOk());
}

TEST_F(JobRegistryTest, ANameStaysTakenWhileItsJobComesAndGoes) {
  room_.store().Block();
  const auto created = StartCreate("a");
  room_.store().WaitUntilBlocked();
  EXPECT_THAT(Create("a"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("'a'")));
  // Not shown yet, but there to be removed.
  EXPECT_THAT(Describe(*registry_.Find("a").value()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  const auto removed = StartRemove("a");
  EXPECT_THAT(Remove("a"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  EXPECT_THAT(Create("a"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("'a'")));
  room_.store().Release();
  EXPECT_THAT(created.Get(), IsOk());
  EXPECT_THAT(removed.Get(), IsOk());
  EXPECT_THAT(Create("a"), IsOk());
}

TEST_F(JobRegistryTest, ListsByNameInPagesAndByAge) {
  for (const char* name : {"b", "c", "a"}) ASSERT_THAT(Create(name), IsOk());
  EXPECT_THAT(NamesOf(registry_.List("", 10)), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesOf(registry_.List("", 2)), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(registry_.List("b", 2)), ElementsAre("c"));
  EXPECT_THAT(NamesOf(registry_.List("aa", 1)), ElementsAre("b"));
  EXPECT_THAT(NamesOf(registry_.List("c", 2)), IsEmpty());
  EXPECT_THAT(NamesOf(registry_.List("", 0)), IsEmpty());
  EXPECT_THAT(NamesOf(registry_.ByAge()), ElementsAre("b", "c", "a"));
  ASSERT_THAT(Remove("b"), IsOk());
  ASSERT_THAT(Create("b"), IsOk());
  EXPECT_THAT(NamesOf(registry_.ByAge()), ElementsAre("c", "a", "b"));
}

TEST_F(JobRegistryTest, TakesOverTheJobsOfTheStoreAlsoThoseThatAreDamaged) {
  ASSERT_THAT(Create("a"), IsOk());
  ASSERT_THAT(Create("b"), IsOk());
  ASSERT_THAT(DoIngest(*registry_.Find("b").value(), 0, {10, 20}), IsOk());
  room_.DamageJob("a");

  JobRegistry recovered(room_.environment(), 1);
  ASSERT_THAT(recovered.Recover(), IsOk());
  EXPECT_THAT(NamesOf(recovered.ByAge()), ElementsAre("a", "b"));
  EXPECT_EQ(Describe(*recovered.Find("b").value())->streams[0].next_sequence, 2U);
  EXPECT_THAT(Describe(*recovered.Find("a").value()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  const Awaited<absl::Status> removed;
  recovered.Remove("a", removed);
  EXPECT_THAT(removed.Get(), IsOk());
  EXPECT_THAT(NamesOf(recovered.ByAge()), ElementsAre("b"));
}

// Creations and removals of the same names from many threads, over a store whose
// commits wait and one whose don't.
class JobRegistryThreadsTest : public ::testing::TestWithParam<bool> {};

TEST_P(JobRegistryThreadsTest, EachCreationAndRemovalIsAllOrNothing) {
  constexpr int kThreads = 4;
  ControlRoom room(/*commit_waits=*/GetParam());
  JobRegistry registry(room.environment(), 10);
  std::atomic<int> created = 0;
  std::atomic<int> removed = 0;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < 200; ++i) {
        const std::string name = (i + t) % 3 == 0 ? "x" : "y";
        if ((i + t) % 2 == 0) {
          const Awaited<absl::StatusOr<JobStatus>> done;
          registry.Create(name, CreateJob{SmallJob()}, done);
          const absl::Status status = done.Get().status();
          created += status.ok() ? 1 : 0;
          EXPECT_TRUE(status.ok() || absl::IsAlreadyExists(status)) << status;
        } else {
          const Awaited<absl::Status> done;
          registry.Remove(name, done);
          removed += done.Get().ok() ? 1 : 0;
          EXPECT_TRUE(done.Get().ok() || absl::IsNotFound(done.Get())) << done.Get();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> left = NamesOf(registry.ByAge());
  EXPECT_EQ(created - removed, static_cast<int>(left.size()));
  EXPECT_GT(created, 10);
  EXPECT_THAT(room.memory().Jobs().value(), ::testing::UnorderedElementsAreArray(left));
}

INSTANTIATE_TEST_SUITE_P(CommitWaits, JobRegistryThreadsTest, ::testing::Bool());

}  // namespace
}  // namespace evenpack
