#include "server/store/postgresql_lead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_schema.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

constexpr int64_t kRoot = PostgresqlLead::kRoot;

// Servers of which each has its connection; the database's clock is moved, not awaited.
class PostgresqlLeadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(PreparePostgresql(ours_), IsOk());
    ASSERT_THAT(PreparePostgresql(theirs_), IsOk());
  }
  // What a transaction that writes these jobs comes to.
  static absl::Status Write(PostgresqlLead& lead, PostgresqlConnection& connection,
                            const std::set<int64_t>& jobs) {
    connection.Queue("BEGIN");
    lead.QueueFence(jobs, connection);
    connection.Queue("COMMIT");
    absl::Status status = connection.Exchange().status();
    if (!status.ok()) connection.Run("ROLLBACK").IgnoreError();
    return status;
  }
  static void Make(PostgresqlLead& lead, PostgresqlConnection& connection,
                   int64_t job) {
    lead.QueueAdd(job, connection);
    ASSERT_THAT(connection.Exchange(), IsOk());
    lead.Added(job);
  }
  void Expire(const std::string& server) {
    schema_.Run(
        absl::StrCat("UPDATE evenpack_servers SET expires = now() WHERE server "
                     "= '",
                     server, "'"));
  }

  ScratchPostgresql schema_;
  PostgresqlConnection ours_ = schema_.Connect();
  PostgresqlConnection theirs_ = schema_.Connect();
  PostgresqlLead we_{"we"};
  PostgresqlLead they_{"they"};
};

TEST_F(PostgresqlLeadTest, OneTakesAndTheOtherWaitsUntilTheLeaseExpires) {
  EXPECT_TRUE(we_.TryTake(ours_).value());
  EXPECT_FALSE(they_.TryTake(theirs_).value());
  EXPECT_THAT(Write(we_, ours_, {kRoot}), IsOk());
  EXPECT_EQ(Write(they_, theirs_, {kRoot}).code(), absl::StatusCode::kAborted);
  Expire("we");
  EXPECT_TRUE(they_.TryTake(theirs_).value());
  EXPECT_THAT(Write(they_, theirs_, {kRoot}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {kRoot}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(we_.Renew(ours_).code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(we_.Rejoin(ours_).value());
}

TEST_F(PostgresqlLeadTest, AnExpiredLeaseThatNobodyTookIsStillHeld) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  Expire("we");
  EXPECT_THAT(Write(we_, ours_, {kRoot}), IsOk());
  // The transaction was a sign of life.
  EXPECT_FALSE(they_.TryTake(theirs_).value());
}

TEST_F(PostgresqlLeadTest, ARenewalIsASignOfLife) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  Expire("we");
  EXPECT_THAT(we_.Renew(ours_), IsOk());
  EXPECT_FALSE(they_.TryTake(theirs_).value());
}

TEST_F(PostgresqlLeadTest, NothingIsTakenFromUnderATransaction) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  Expire("we");
  ours_.Queue("BEGIN");
  we_.QueueFence({kRoot}, ours_);
  ASSERT_THAT(ours_.Exchange(), IsOk());
  // Its sign of life is not committed yet, but its lock is seen.
  EXPECT_FALSE(they_.TryTake(theirs_).value());
  ASSERT_THAT(ours_.Run("COMMIT"), IsOk());
  EXPECT_FALSE(they_.TryTake(theirs_).value());
}

TEST_F(PostgresqlLeadTest, EveryJobHasAnEpochOfItsOwn) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  Make(we_, ours_, 1);
  Make(we_, ours_, 2);
  EXPECT_THAT(Write(we_, ours_, {1, 2}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {3}).code(), absl::StatusCode::kAborted);
  schema_.Run("UPDATE evenpack_leases SET epoch = epoch + 1 WHERE job = 2");
  EXPECT_THAT(Write(we_, ours_, {1}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {1, 2}).code(), absl::StatusCode::kAborted);
  schema_.Run("UPDATE evenpack_leases SET server = 'they' WHERE job = 1");
  EXPECT_EQ(Write(we_, ours_, {1}).code(), absl::StatusCode::kAborted);
}

TEST_F(PostgresqlLeadTest, AllThatADeadServerLedIsTakenTogether) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  for (int64_t job = 1; job <= 3; ++job) Make(we_, ours_, job);
  Expire("we");
  ASSERT_TRUE(they_.TryTake(theirs_).value());
  EXPECT_THAT(Write(they_, theirs_, {kRoot, 1, 2, 3}), IsOk());
}

TEST_F(PostgresqlLeadTest, WhoReleasesIsFollowedAtOnce) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  ASSERT_THAT(we_.Release(ours_), IsOk());
  EXPECT_TRUE(they_.TryTake(theirs_).value());
}

TEST_F(PostgresqlLeadTest, OnANewConnectionTheOldOneIsFencedToo) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  // As the old connection's backend has it.
  theirs_.Queue("BEGIN");
  const int64_t number = we_.QueueFence({kRoot}, theirs_);
  ASSERT_TRUE(we_.Rejoin(ours_).value());
  EXPECT_EQ(theirs_.Exchange().status().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(we_.IsCommitted(number, ours_).value());
  EXPECT_THAT(Write(we_, ours_, {kRoot}), IsOk());
  EXPECT_TRUE(we_.IsCommitted(number, ours_).value());
}

TEST_F(PostgresqlLeadTest, ARejoinThatComesLateChangesNothing) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  const int64_t epoch =
      schema_.Number("SELECT epoch FROM evenpack_leases WHERE job = 0");
  ASSERT_TRUE(we_.Rejoin(ours_).value());
  // As an attempt before it that was given up would be read now.
  schema_.Run(absl::StrCat("SELECT evenpack_rejoin('we', 1000, ", epoch, ")"));
  EXPECT_THAT(Write(we_, ours_, {kRoot}), IsOk());
}

TEST_F(PostgresqlLeadTest, ARenewalIsNoCommit) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  ours_.Queue("BEGIN");
  const int64_t number = we_.QueueFence({kRoot}, ours_);
  ASSERT_THAT(ours_.Exchange(), IsOk());
  ASSERT_THAT(ours_.Run("ROLLBACK"), IsOk());
  ASSERT_THAT(we_.Renew(ours_), IsOk());
  EXPECT_FALSE(we_.IsCommitted(number, ours_).value());
}

TEST_F(PostgresqlLeadTest, ServersThatAreLongGoneAreForgotten) {
  ASSERT_TRUE(we_.TryTake(ours_).value());
  schema_.Run("UPDATE evenpack_servers SET expires = now() - interval '2 days'");
  ASSERT_TRUE(they_.TryTake(theirs_).value());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers"), 1);
}

}  // namespace
}  // namespace evenpack::testing
