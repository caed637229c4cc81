// Several servers over one database: which jobs each leads, and what each may write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_store.h"
#include "tests/server/store/held_transaction.h"
#include "tests/server/store/lossy_link.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/sharing_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Writes = std::vector<StoreWrite>;

class PostgresqlSharingTest : public ::testing::Test {
 protected:
  using Server = std::unique_ptr<SharingServer>;

  Server Start(const std::string& address) {
    return std::make_unique<SharingServer>(schema_.target(), address);
  }
  static void Make(SharingServer& server, int jobs) {
    Writes writes;
    for (int job = 0; job < jobs; ++job) {
      writes.emplace_back(AppendRecord{Name(job), 0, "made"});
    }
    ASSERT_THAT(server.Commit(writes), IsOk());
  }
  static std::string Name(int job) { return absl::StrCat("job", job); }
  // Two servers that lead five jobs each.
  void StartTwo() {
    a_ = Start("a:1");
    Make(*a_, 10);
    b_ = Start("b:1");
    ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(5); }));
  }
  bool LeadEach(size_t jobs) { return a_->jobs() == jobs && b_->jobs() == jobs; }
  // As though another server than the one that leads them had taken or lost them.
  void Move(const std::string& where, const std::string& address) const {
    schema_.Run(absl::StrCat(
        "UPDATE evenpack_leases SET epoch = epoch + 1, server = "
        "(SELECT server FROM evenpack_servers WHERE address = '",
        address, "') WHERE job IN (SELECT id FROM evenpack_jobs WHERE ", where, ")"));
  }
  // Returns once each server has renewed its lease several times.
  void AwaitRenewals() const {
    PostgresqlConnection watching = schema_.Connect();
    for (int renewal = 0; renewal < 2; ++renewal) {
      ASSERT_THAT(watching.Run("CREATE TEMPORARY TABLE seen AS "
                               "SELECT server, expires FROM evenpack_servers"),
                  IsOk());
      // Until the test's time is over; the database looks every 20 ms.
      while (watching
                 .Ask("SELECT count(*), pg_sleep(0.02) FROM seen "
                      "JOIN evenpack_servers AS now USING (server) "
                      "WHERE now.expires <= seen.expires")
                 ->Integer(0, 0) > 0) {
      }
      ASSERT_THAT(watching.Run("DROP TABLE seen"), IsOk());
    }
  }
  // Returns once each server has renewed a lease that was an hour too long.
  void AwaitRenewalsAfterAStep() const {
    while (schema_.Number("SELECT count(*) FROM evenpack_servers "
                          "WHERE expires > now() + interval '1 minute'") > 0) {
    }
  }
  void CutConnections() const {
    schema_.Run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = current_setting('application_name') "
        "AND pid <> pg_backend_pid()");
  }

  void CutConnectionsBut(int process) const {
    schema_.Run(
        absl::StrCat("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     "WHERE application_name = current_setting('application_name') "
                     "AND pid <> pg_backend_pid() AND pid <> ",
                     process));
  }

  ScratchPostgresql schema_;
  Server a_;
  Server b_;
};

TEST_F(PostgresqlSharingTest, EachThatJoinsGetsItsShareAndNoMore) {
  StartTwo();
  const Server c = Start("c:1");
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get(), c.get()}, [&] {
    return a_->jobs() + b_->jobs() + c->jobs() == 10 && a_->jobs() <= 4 &&
           b_->jobs() <= 4 && c->jobs() <= 4;
  }));
  for (SharingServer* const server : {a_.get(), b_.get(), c.get()}) server->Work();
  AwaitRenewals();
  for (SharingServer* const server : {a_.get(), b_.get(), c.get()}) {
    EXPECT_THAT(server->Work(), IsEmpty());
  }
}

TEST_F(PostgresqlSharingTest, WhatADeadServerLedIsSharedByTheOthers) {
  StartTwo();
  std::optional<LossyLink> link(schema_.port());
  SharingServer c(schema_.TargetAt(link->port()), "c:1");
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get(), &c}, [&] { return c.jobs() >= 2; }));
  const std::vector<std::string> its_jobs = c.store().Jobs().value();
  // Nothing of it arrives any more, not even that it is gone.
  link.reset();
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(5); }));
  for (const std::string& job : its_jobs) {
    EXPECT_EQ(c.Commit({AppendRecord{job, 1, "late"}}).code(),
              absl::StatusCode::kUnavailable);
    SharingServer& leader = a_->store().Locate(job)->here ? *a_ : *b_;
    // Once it has read the job.
    EXPECT_TRUE(WorkUntil({&leader}, [&] {
      return leader.Commit({AppendRecord{job, 1, "next"}}).ok();
    }));
    EXPECT_THAT(leader.store().Load(job)->records, ElementsAre("made", "next"));
  }
}

// As one whose process was stopped while it sent a large commit.
TEST_F(PostgresqlSharingTest, WhatIsLockedByOneThatStoppedInACommitIsTaken) {
  { SharingServer first(schema_.target(), "first:1"); }
  schema_.Run(
      "INSERT INTO evenpack_servers (server, expires, commits, address, takes) "
      "VALUES ('stopped', now(), 0, 'stopped:1', true);"
      "INSERT INTO evenpack_jobs VALUES (9, 'job', '');"
      "INSERT INTO evenpack_leases VALUES (9, 'stopped', 1)");
  const HeldTransaction held(schema_.target(),
                             {"SELECT evenpack_enter('stopped', 0, 1, 0, "
                              "ARRAY[9]::bigint[], ARRAY[1]::bigint[])"},
                             1);
  LeaseTiming timing;
  timing.silence = milliseconds(100);
  SharingServer other(schema_.target(), "other:1", timing);
  EXPECT_TRUE(other.lead().Await("taken job"));
}

TEST_F(PostgresqlSharingTest, OneThatIsBackIsNotHeldUpByItsOldConnection) {
  LeaseTiming timing;
  timing.silence = milliseconds(100);
  a_ = std::make_unique<SharingServer>(schema_.target(), "a:1", timing);
  Make(*a_, 1);
  // As its last commit's, which the database has not seen end.
  const HeldTransaction held(schema_.target(),
                             {"UPDATE evenpack_servers SET commits = commits"}, 1);
  CutConnectionsBut(held.process());
  EXPECT_TRUE(WorkUntil({a_.get()}, [this] {
    return a_->Commit({AppendRecord{Name(0), 1, "next"}}).ok();
  }));
}

// As where a database starts with a wrong clock, and servers connect to it before that
// is put right.
TEST_F(PostgresqlSharingTest, ADeadServerIsFollowedThoughTheDatabasesClockWasSetBack) {
  a_ = Start("a:1");
  Make(*a_, 4);
  std::optional<LossyLink> link(schema_.port());
  SharingServer b(schema_.TargetAt(link->port()), "b:1");
  ASSERT_TRUE(WorkUntil({a_.get(), &b}, [&] { return b.jobs() == 2; }));
  schema_.Run(
      "UPDATE evenpack_servers SET heard_since = now() + interval '1 hour', "
      "expires = expires + interval '1 hour'");
  AwaitRenewalsAfterAStep();
  link.reset();
  EXPECT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 4; }));
}

TEST_F(PostgresqlSharingTest, OneThatStepsDownIsFollowedAtOnce) {
  StartTwo();
  b_->store().StepDown();
  EXPECT_EQ(b_->Commit({AppendRecord{"new", 0, ""}}).code(),
            absl::StatusCode::kUnavailable);
  ASSERT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 10; }));
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers"), 1);
}

TEST_F(PostgresqlSharingTest, WhatOthersDoNotTakeIsTakenAfterASecond) {
  a_ = Start("a:1");
  Make(*a_, 10);
  schema_.Run(
      "INSERT INTO evenpack_servers (server, expires, commits, address, takes) "
      "VALUES ('idle', now() + interval '1 hour', 0, 'idle:1', true);"
      "UPDATE evenpack_leases SET server = '', epoch = epoch + 1");
  ASSERT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 5; }));
  ASSERT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 10; }));
}

TEST_F(PostgresqlSharingTest, TwoThatGiveEachOtherJobsDoNotWaitInACircle) {
  StartTwo();
  std::vector<std::thread> givers;
  for (SharingServer* const server : {a_.get(), b_.get()}) {
    givers.emplace_back([server] {
      const std::vector<std::string> jobs = server->store().Jobs().value();
      for (const std::string& job : jobs) {
        EXPECT_THAT(server->store().HandOver(job), IsOk());
      }
    });
  }
  for (std::thread& giver : givers) giver.join();
}

TEST_F(PostgresqlSharingTest, OneThatLeavesHandsItsJobsOverAndGetsNone) {
  StartTwo();
  ASSERT_THAT(b_->store().Leave(), IsOk());
  const std::vector<std::string> jobs = b_->store().Jobs().value();
  for (const std::string& job : jobs) {
    EXPECT_EQ(b_->HandOver(job).value(), "a:1");
    EXPECT_EQ(b_->Commit({AppendRecord{job, 1, "late"}}).code(),
              absl::StatusCode::kAborted);
    EXPECT_THAT(b_->HandOver(job),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(job)));
    EXPECT_TRUE(a_->lead().Await("taken " + job));
    EXPECT_THAT(a_->store().Load(job), IsOk());
    EXPECT_THAT(a_->Commit({AppendRecord{job, 1, "next"}}), IsOk());
  }
  // The other way there is nobody.
  EXPECT_THAT(a_->HandOver("job0"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                             HasSubstr("no other server takes jobs")));
  EXPECT_THAT(a_->Commit({AppendRecord{"job0", 1, "kept"}}), IsOk());
  EXPECT_EQ(b_->jobs(), 0U);
}

TEST_F(PostgresqlSharingTest, WhatOneCannotReadGoesToAnotherAndDoesNotComeBack) {
  StartTwo();
  const std::string job = a_->store().Jobs()->front();
  a_->store().CannotRead(job);
  ASSERT_TRUE(
      WorkUntil({a_.get(), b_.get()}, [&] { return b_->store().Locate(job)->here; }));
  ASSERT_TRUE(WorkUntil({b_.get()}, [this] { return b_->jobs() == 6; }));
  AwaitRenewals();
  // Though it leads more than its share, and whatever is made.
  Writes made;
  for (int i = 10; i < 16; ++i) made.emplace_back(AppendRecord{Name(i), 0, "made"});
  ASSERT_THAT(b_->Commit(made), IsOk());
  AwaitRenewals();
  a_->Work();
  b_->Work();
  EXPECT_EQ(a_->jobs(), 4U);
  EXPECT_EQ(b_->jobs(), 12U);
}

TEST_F(PostgresqlSharingTest, OneThatStandsAsideTakesAllWhereNobodyElseDoes) {
  StartTwo();
  a_->store().CannotRead(a_->store().Jobs()->front());
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return b_->jobs() == 6; }));
  b_->store().StepDown();
  ASSERT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 10; }));
  // It keeps what it can't read then.
  a_->store().CannotRead(a_->store().Jobs()->front());
  AwaitRenewals();
  EXPECT_THAT(a_->Work(), IsEmpty());
}

TEST_F(PostgresqlSharingTest, OneThatStoodAsideTakesItsShareAgainInTime) {
  LeaseTiming timing;
  timing.aside = milliseconds(400);
  a_ = std::make_unique<SharingServer>(schema_.target(), "a:1", timing);
  Make(*a_, 1);
  b_ = Start("b:1");
  a_->store().CannotRead("job0");
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return b_->jobs() == 1; }));
  ASSERT_THAT(b_->Commit({AppendRecord{"job1", 0, "made"}}), IsOk());
  EXPECT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(1); }));
}

// As where an older version took the place of a newer one.
TEST_F(PostgresqlSharingTest, WhatNobodyCanReadDoesNotGoRoundAndRound) {
  LeaseTiming timing;
  timing.alone = std::chrono::hours(1);
  a_ = std::make_unique<SharingServer>(schema_.target(), "a:1", timing);
  Make(*a_, 2);
  b_ = std::make_unique<SharingServer>(schema_.target(), "b:1", timing);
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(1); }));
  const std::string job = a_->store().Jobs()->front();
  a_->store().CannotRead(job);
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return b_->jobs() == 2; }));
  b_->store().CannotRead(job);
  AwaitRenewals();
  EXPECT_THAT(b_->Work(), IsEmpty());
  EXPECT_TRUE(b_->store().Locate(job)->here);
}

// As a newer version that is started again after older ones took its jobs.
TEST_F(PostgresqlSharingTest, WhatNobodyCouldReadGoesToWhoComesAtOnce) {
  LeaseTiming timing;
  timing.alone = std::chrono::hours(1);
  a_ = std::make_unique<SharingServer>(schema_.target(), "a:1", timing);
  Make(*a_, 1);
  a_->store().CannotRead("job0");
  EXPECT_THAT(a_->Work(), IsEmpty()) << "it is alone";
  b_ = Start("b:1");
  EXPECT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return b_->jobs() == 1; }));
}

TEST_F(PostgresqlSharingTest, AJobThatAnotherLeadsIsRefusedAlone) {
  StartTwo();
  const std::string gone = a_->store().Jobs()->front();
  const std::string kept = a_->store().Jobs()->back();
  Move(absl::StrCat("name = '", gone, "'"), "b:1");
  EXPECT_THAT(
      a_->Commit({AppendRecord{kept, 1, "both"}, AppendRecord{gone, 1, "late"}}),
      StatusIs(absl::StatusCode::kAborted, "store: another server leads"));
  EXPECT_THAT(a_->Commit({AppendRecord{kept, 1, "alone"}}), IsOk());
  EXPECT_THAT(a_->Commit({RemoveJob{gone}}),
              StatusIs(absl::StatusCode::kAborted, "store: another server leads"));
  EXPECT_EQ(a_->store().Load(gone).status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(a_->lead().Await("lost " + gone));
  ASSERT_TRUE(b_->lead().Await("taken " + gone));
  // Not before it has read what the last leader left.
  EXPECT_EQ(b_->Commit({AppendRecord{gone, 1, "blind"}}).code(),
            absl::StatusCode::kAborted);
  EXPECT_THAT(b_->store().Load(gone)->records, ElementsAre("made"));
  EXPECT_THAT(b_->Commit({AppendRecord{gone, 1, "next"}}), IsOk());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_records"), 12);
}

TEST_F(PostgresqlSharingTest, AJobThatWentAndCameBackIsReadAnew) {
  StartTwo();
  const std::string job = a_->store().Jobs()->front();
  Move(absl::StrCat("name = '", job, "'"), "b:1");
  ASSERT_TRUE(b_->lead().Await("taken " + job));
  ASSERT_THAT(b_->store().Load(job), IsOk());
  ASSERT_THAT(b_->Commit({AppendRecord{job, 1, "b's"}}), IsOk());
  ASSERT_EQ(b_->HandOver(job).value(), "a:1");
  ASSERT_TRUE(a_->lead().Await("lost " + job));
  ASSERT_TRUE(a_->lead().Await("taken " + job));
  EXPECT_EQ(a_->Commit({AppendRecord{job, 1, "late"}}).code(),
            absl::StatusCode::kAborted);
  EXPECT_THAT(a_->store().Load(job)->records, ElementsAre("made", "b's"));
  EXPECT_THAT(a_->Commit({AppendRecord{job, 2, "a's"}}), IsOk());
}

TEST_F(PostgresqlSharingTest, AnyServerMakesJobsOfNamesThatNoneHas) {
  StartTwo();
  ASSERT_THAT(a_->Commit({AppendRecord{"x", 0, "a's"}}), IsOk());
  EXPECT_THAT(b_->Commit({AppendRecord{"y", 0, ""}, AppendRecord{"x", 0, "b's"}}),
              StatusIs(absl::StatusCode::kAlreadyExists, "job: 'x' is in the store"));
  EXPECT_THAT(b_->Commit({AppendRecord{"y", 0, "b's"}}), IsOk());
  EXPECT_THAT(a_->store().Load("x")->records, ElementsAre("a's"));
  ASSERT_THAT(a_->Commit({RemoveJob{"x"}}), IsOk());
  EXPECT_EQ(a_->store().Locate("x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(b_->Commit({AppendRecord{"x", 0, "b's"}}), IsOk());
  EXPECT_THAT(a_->Commit({AppendRecord{"none", 1, ""}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'none'")));
}

TEST_F(PostgresqlSharingTest, EachKnowsWhereAllJobsAre) {
  StartTwo();
  const std::string its = b_->store().Jobs()->front();
  EXPECT_EQ(a_->store().Locate(its).value(), (JobPlace{its, "b:1", false}));
  EXPECT_EQ(b_->store().Locate(its).value(), (JobPlace{its, "b:1", true}));
  const std::vector<JobPlace> first = a_->store().Places("", 3).value();
  ASSERT_EQ(first.size(), 3U);
  const std::vector<JobPlace> rest = a_->store().Places(first.back().job, 100).value();
  EXPECT_EQ(rest.size(), 7U);
  EXPECT_EQ(first.front().job, "job0");
  EXPECT_EQ(rest.back().job, "job9");
  // Of a server that nobody has heard of nobody takes it.
  schema_.Run(
      "UPDATE evenpack_leases SET server = 'gone' WHERE job = "
      "(SELECT id FROM evenpack_jobs WHERE name = 'job4')");
  EXPECT_EQ(a_->store().Locate("job4").value(), (JobPlace{"job4", "", false}));
}

TEST_F(PostgresqlSharingTest, ProfilesAreWrittenByAnyServerAndNewsToTheOthers) {
  StartTwo();
  a_->Work();
  ASSERT_THAT(a_->Commit({WriteProfile{"p", "a's"}}), IsOk());
  ASSERT_TRUE(b_->lead().Await("profiles"));
  EXPECT_EQ(b_->store().Profiles()->at("p").value(), "a's");
  EXPECT_THAT(a_->Work(), Not(::testing::Contains("profiles")));
  b_->Work();
  ASSERT_THAT(b_->Commit({RemoveProfile{"p"}}), IsOk());
  ASSERT_TRUE(a_->lead().Await("profiles"));
  EXPECT_THAT(a_->store().Profiles().value(), IsEmpty());
  // The database went back.
  schema_.Run("UPDATE evenpack_profile_changes SET version = 0");
  EXPECT_TRUE(b_->lead().Await("profiles"));
}

TEST_F(PostgresqlSharingTest, NothingMovesWhenTheDatabaseWasAwayForAll) {
  StartTwo();
  for (SharingServer* const server : {a_.get(), b_.get()}) server->Work();
  schema_.Run("UPDATE evenpack_servers SET expires = now() - interval '1 minute'");
  CutConnections();
  AwaitRenewals();
  EXPECT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(5); }));
  EXPECT_THAT(a_->Work(), IsEmpty());
  EXPECT_THAT(b_->Work(), IsEmpty());
  EXPECT_THAT(a_->Commit({AppendRecord{a_->store().Jobs()->front(), 1, ""}}), IsOk());
}

TEST_F(PostgresqlSharingTest, CommitsThatTheDatabaseLostMakeAJobBeReadAnew) {
  StartTwo();
  const std::string job = a_->store().Jobs()->front();
  ASSERT_THAT(a_->Commit({AppendRecord{job, 1, "lost"}}), IsOk());
  schema_.Run("DELETE FROM evenpack_records WHERE bytes = 'lost'");
  CutConnections();
  ASSERT_TRUE(a_->lead().Await("lost " + job));
  ASSERT_TRUE(a_->lead().Await("taken " + job));
  EXPECT_THAT(a_->store().Load(job)->records, ElementsAre("made"));
  EXPECT_THAT(a_->Commit({AppendRecord{job, 1, "again"}}), IsOk());
}

TEST_F(PostgresqlSharingTest, OneThatTheDatabaseForgotLeadsNothingMore) {
  for (const bool cut : {false, true}) {
    StartTwo();
    schema_.Run(
        "UPDATE evenpack_leases SET server = '', epoch = epoch + 1;"
        "DELETE FROM evenpack_servers WHERE address = 'b:1'");
    if (cut) CutConnections();
    EXPECT_TRUE(
        b_->lead().Await("lost all: store: the database has forgotten this server"));
    EXPECT_EQ(b_->Commit({AppendRecord{"new", 0, ""}}).code(),
              absl::StatusCode::kAborted);
    EXPECT_EQ(b_->HandOver("job0").status().code(), absl::StatusCode::kAborted);
    EXPECT_EQ(b_->store().Locate("job0").status().code(),
              absl::StatusCode::kUnavailable);
    ASSERT_TRUE(WorkUntil({a_.get()}, [this] { return a_->jobs() == 10; }));
    for (int job = 0; job < 10; ++job) {
      ASSERT_THAT(a_->Commit({RemoveJob{Name(job)}}), IsOk());
    }
  }
}

TEST_F(PostgresqlSharingTest, AThousandJobsMoveAndAreThenLeftAlone) {
  a_ = Start("a:1");
  Make(*a_, 1000);
  LossyLink link(schema_.port());
  b_ = std::make_unique<SharingServer>(schema_.TargetAt(link.port()), "b:1");
  ASSERT_TRUE(WorkUntil({a_.get(), b_.get()}, [this] { return LeadEach(500); }));
  for (SharingServer* const server : {a_.get(), b_.get()}) server->Work();
  AwaitRenewals();
  const int before = link.requests();
  const Clock::TimePoint start = Clock::Steady().Now();
  AwaitRenewals();
  // One round trip for each look.
  const auto looks = (Clock::Steady().Now() - start) / LeaseTiming().look;
  EXPECT_LE(link.requests() - before, looks + 2);
  EXPECT_THAT(a_->Work(), IsEmpty());
  EXPECT_THAT(b_->Work(), IsEmpty());
}

}  // namespace
}  // namespace evenpack::testing
