#include "server/control/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/awaited.h"
#include "tests/testing/shared_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SharedMemory;
using testing::SharedServer;
using testing::StatusIs;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class DirectoryTest : public ::testing::Test {
 protected:
  Awaited<absl::Status> Ask(const std::string& job) {
    Awaited<absl::Status> told;
    here_.directory().WhereIs(job, told);
    return told;
  }

  SharedMemory memory_;
  SharedServer here_{memory_, "here:1"};
  SharedServer there_{memory_, "there:2"};
};

TEST_F(DirectoryTest, SaysWhoLeadsAJob) {
  ASSERT_THAT(there_.Create("a"), IsOk());
  const absl::Status status = here_.WhereIs("a");
  EXPECT_THAT(status,
              StatusIs(kUnavailable, "job: 'a' is led by the server at there:2"));
  EXPECT_EQ(DetailOf(status),
            (StatusDetail{kLedElsewhere, {{"job", "a"}, {"address", "there:2"}}}));
}

TEST_F(DirectoryTest, AJobThatIsInNoLeaseIsNotKnown) {
  const absl::Status status = here_.WhereIs("a");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  EXPECT_EQ(DetailOf(status).reason, "JOB_NOT_FOUND");
}

TEST_F(DirectoryTest, SaysThatNobodyLeadsAJobAndCountsIt) {
  ASSERT_THAT(there_.Create("a"), IsOk());
  memory_.Move("a", nullptr);
  const absl::Status status = here_.WhereIs("a");
  EXPECT_THAT(status, StatusIs(kUnavailable, HasSubstr("by no server just now")));
  EXPECT_EQ(DetailOf(status), (StatusDetail{kNoLeader, {{"job", "a"}}}));
  EXPECT_EQ(here_.directory().leaderless(), 1U);
}

TEST_F(DirectoryTest, AnAddressIsKnownForAMoment) {
  ASSERT_THAT(there_.Create("a"), IsOk());
  here_.WhereIs("a").IgnoreError();
  here_.WhereIs("a").IgnoreError();
  EXPECT_EQ(memory_.locations(), 1);
  here_.room().clock().Advance(Directory::kMostAge + std::chrono::milliseconds(1));
  here_.WhereIs("a").IgnoreError();
  EXPECT_EQ(memory_.locations(), 2);
  here_.directory().Forget("a");
  here_.WhereIs("a").IgnoreError();
  EXPECT_EQ(memory_.locations(), 3);
}

TEST_F(DirectoryTest, ThatThereIsNoSuchJobIsNeverRemembered) {
  EXPECT_TRUE(absl::IsNotFound(here_.WhereIs("a")));
  ASSERT_THAT(there_.Create("a"), IsOk());
  EXPECT_EQ(DetailOf(here_.WhereIs("a")).reason, kLedElsewhere);
}

TEST_F(DirectoryTest, ManyThatAskForOneJobAreOneQuestionOfAfterTheyAsked) {
  ASSERT_THAT(there_.Create("a"), IsOk());
  memory_.HoldReads();
  std::vector<Awaited<absl::Status>> asked = {Ask("b")};
  memory_.WaitUntilReading();
  // Not answered by the question under way, which may have been read before.
  for (int i = 0; i < 100; ++i) asked.push_back(Ask("b"));
  memory_.ReleaseReads();
  for (const auto& told : asked) EXPECT_TRUE(absl::IsNotFound(told.Get()));
  EXPECT_EQ(memory_.locations(), 2);
}

TEST_F(DirectoryTest, ADatabaseThatCannotBeReachedIsSaidToBeSo) {
  memory_.ReleaseReads(/*fail=*/true);
  const absl::Status status = here_.WhereIs("a");
  EXPECT_THAT(status, StatusIs(kUnavailable,
                               "store: who leads the job can't be learned: the "
                               "database can't be reached"));
  EXPECT_EQ(DetailOf(status).reason, "STORE_FAILED");
}

TEST_F(DirectoryTest, WhoAsksForAJobThatIsHeldWaitsUntilItIsReleased) {
  here_.directory().Hold("a");
  here_.directory().Hold("b");
  const auto moved = Ask("a");
  const auto stayed = Ask("b");
  EXPECT_TRUE(absl::IsNotFound(Ask("c").Get()));
  EXPECT_FALSE(moved.IsSet());
  here_.directory().Release("a", "there:2");
  here_.directory().Release("b", "");
  EXPECT_EQ(DetailOf(moved.Get()).reason, kLedElsewhere);
  EXPECT_EQ(DetailOf(stayed.Get()).reason, kNoLeader);
  // The new address needs no question.
  EXPECT_EQ(DetailOf(Ask("a").Get()).values.at("address"), "there:2");
  EXPECT_EQ(memory_.locations(), 1);
}

TEST_F(DirectoryTest, NobodyIsSentAfterAJobThatCameBackBeforeItWasReleased) {
  here_.directory().Hold("a");
  const auto asked = Ask("a");
  // The one that it was handed to has handed it back.
  here_.directory().Forget("a");
  here_.directory().Release("a", "there:2");
  EXPECT_EQ(DetailOf(asked.Get()).reason, kNoLeader);
  // The store is asked, which has no such job.
  EXPECT_TRUE(absl::IsNotFound(here_.WhereIs("a")));
  // The next move is one of its own.
  here_.directory().Hold("a");
  here_.directory().Release("a", "there:2");
  EXPECT_EQ(DetailOf(here_.WhereIs("a")).reason, kLedElsewhere);
}

TEST_F(DirectoryTest, QuestionsWaitUntilItIsOpenAndNoneIsLeftWhenItIsClosed) {
  Directory directory(here_.store(), here_.profiles(), here_.room().clock());
  Awaited<absl::Status> job;
  Awaited<absl::Status> held;
  Awaited<absl::Status> profiles;
  Awaited<Directory::Places> places;
  directory.Hold("b");
  directory.WhereIs("a", job);
  directory.WhereIs("b", held);
  directory.ReadProfiles(profiles);
  directory.List("", 1, places);
  EXPECT_EQ(memory_.locations(), 0);
  directory.Close();
  EXPECT_EQ(DetailOf(job.Get()).reason, kNoLeader);
  EXPECT_EQ(DetailOf(held.Get()).reason, kNoLeader);
  EXPECT_THAT(profiles.Get(), StatusIs(kUnavailable, HasSubstr("shutting down")));
  EXPECT_THAT(places.Get(), StatusIs(kUnavailable, HasSubstr("shutting down")));
  Awaited<absl::Status> late;
  directory.WhereIs("a", late);
  EXPECT_TRUE(late.IsSet());
}

TEST_F(DirectoryTest, ListsWhereJobsAre) {
  ASSERT_THAT(here_.Create("b"), IsOk());
  ASSERT_THAT(there_.Create("a"), IsOk());
  ASSERT_THAT(there_.Create("c"), IsOk());
  const Awaited<Directory::Places> first;
  here_.directory().List("", 2, first);
  EXPECT_THAT(*first.Get(), ElementsAre(JobPlace{"a", "there:2", false},
                                        JobPlace{"b", "here:1", true}));
  const Awaited<Directory::Places> rest;
  here_.directory().List("b", 2, rest);
  EXPECT_THAT(*rest.Get(), ElementsAre(JobPlace{"c", "there:2", false}));
}

TEST_F(DirectoryTest, ReadsProfilesThatOthersWrote) {
  const Awaited<absl::Status> put;
  there_.profiles().Put("p", "bytes", put);
  ASSERT_THAT(put.Get(), IsOk());
  EXPECT_TRUE(absl::IsNotFound(here_.profiles().Find("p").status()));
  const Awaited<absl::Status> read;
  here_.directory().ReadProfiles(read);
  EXPECT_THAT(read.Get(), IsOk());
  EXPECT_EQ(here_.profiles().Find("p").value(), "bytes");
  memory_.ReleaseReads(/*fail=*/true);
  const Awaited<absl::Status> failed;
  here_.directory().ReadProfiles(failed);
  EXPECT_THAT(failed.Get(),
              StatusIs(kUnavailable, HasSubstr("profiles can't be read")));
}

}  // namespace
}  // namespace evenpack
