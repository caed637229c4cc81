#include "server/store/postgresql_lead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_schema.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using Epochs = std::map<int64_t, int64_t>;

constexpr std::chrono::milliseconds kLease{30'000};
constexpr int64_t kAll = 1000;

// Servers of which each has its connection; the database's clock is moved, not awaited.
class PostgresqlLeadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(PreparePostgresql(ours_), IsOk());
    ASSERT_THAT(PreparePostgresql(theirs_), IsOk());
    ASSERT_THAT(we_.Join("we:1", ours_), IsOk());
    ASSERT_THAT(they_.Join("they:1", theirs_), IsOk());
  }
  // What a transaction that writes these jobs comes to.
  static absl::Status Write(PostgresqlLead& lead, PostgresqlConnection& connection,
                            const Epochs& epochs) {
    connection.Queue("BEGIN");
    lead.QueueEnter(epochs, connection);
    PostgresqlLead::QueueCommit(connection);
    return Ended(connection);
  }
  static absl::Status Renew(PostgresqlLead& lead, PostgresqlConnection& connection) {
    lead.QueueRenewal(connection);
    return Ended(connection);
  }
  static absl::Status Claim(PostgresqlLead& lead, PostgresqlConnection& connection,
                            int64_t most = kAll) {
    lead.QueueClaim(most, connection);
    return Ended(connection);
  }
  static absl::Status Ended(PostgresqlConnection& connection) {
    absl::Status status = connection.Exchange().status();
    if (!status.ok()) connection.Run("ROLLBACK").IgnoreError();
    return status;
  }
  // Leases of jobs 1 to `jobs` in epoch 1.
  void Lease(const std::string& server, int jobs) const {
    schema_.Run(absl::StrCat("INSERT INTO evenpack_leases SELECT job, '", server,
                             "', 1 FROM generate_series(1, ", jobs, ") AS job"));
  }
  int64_t LedBy(const std::string& server) const {
    return schema_.Number(absl::StrCat(
        "SELECT count(*) FROM evenpack_leases WHERE server = '", server, "'"));
  }
  void Expire(const std::string& server) const {
    schema_.Run(absl::StrCat(
        "UPDATE evenpack_servers SET expires = now() WHERE server = '", server, "'"));
  }

  ScratchPostgresql schema_;
  PostgresqlConnection ours_ = schema_.Connect();
  PostgresqlConnection theirs_ = schema_.Connect();
  PostgresqlLead we_{"we", kLease};
  PostgresqlLead they_{"they", kLease};
};

TEST_F(PostgresqlLeadTest, WhatALivingServerLeadsIsNotTaken) {
  Lease("we", 3);
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("we"), 3);
  EXPECT_THAT(Write(we_, ours_, {{1, 1}, {3, 1}}), IsOk());
  EXPECT_EQ(Write(they_, theirs_, {{1, 1}}).code(), absl::StatusCode::kAborted);
}

TEST_F(PostgresqlLeadTest, WhatADeadOneLedIsTakenAndItWritesItNoMore) {
  Lease("we", 3);
  Expire("we");
  ASSERT_THAT(Claim(they_, theirs_, 2), IsOk());
  EXPECT_EQ(LedBy("they"), 2);
  EXPECT_THAT(Write(they_, theirs_, {{1, 2}, {2, 2}}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {{1, 1}}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Write(we_, ours_, {{3, 1}, {2, 1}}).code(), absl::StatusCode::kAborted);
  // It lives again, with what nobody took.
  EXPECT_THAT(Write(we_, ours_, {{3, 1}}), IsOk());
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("we"), 1);
}

TEST_F(PostgresqlLeadTest, AnExpiredLeaseThatNobodyTookIsStillHeld) {
  Lease("we", 1);
  Expire("we");
  EXPECT_THAT(Write(we_, ours_, {{1, 1}}), IsOk());
  // The transaction was a sign of life.
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("we"), 1);
}

TEST_F(PostgresqlLeadTest, ARenewalIsASignOfLife) {
  Lease("we", 1);
  Expire("we");
  EXPECT_THAT(Renew(we_, ours_), IsOk());
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("we"), 1);
}

TEST_F(PostgresqlLeadTest, NothingIsTakenFromUnderATransaction) {
  Lease("we", 2);
  Expire("we");
  ours_.Queue("BEGIN");
  we_.QueueEnter(Epochs{{1, 1}}, ours_);
  ASSERT_THAT(ours_.Exchange(), IsOk());
  // Its sign of life is not committed yet, but its lock is seen.
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  ASSERT_THAT(ours_.Run("COMMIT"), IsOk());
  EXPECT_EQ(LedBy("we"), 2);
}

TEST_F(PostgresqlLeadTest, WhoWasSilentItselfTakesNothingForAWhile) {
  Lease("we", 2);
  // As after the database stood still.
  schema_.Run("UPDATE evenpack_servers SET expires = now()");
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("we"), 2);
  schema_.Run("UPDATE evenpack_servers SET heard_since = now() - interval '1 minute'");
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("they"), 2);
}

TEST_F(PostgresqlLeadTest, EveryJobHasAnEpochOfItsOwn) {
  Lease("we", 3);
  schema_.Run("UPDATE evenpack_leases SET epoch = 2 WHERE job = 2");
  EXPECT_THAT(Write(we_, ours_, {{1, 1}, {2, 2}}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {{1, 1}, {2, 1}}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Write(we_, ours_, {{4, 1}}).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Write(we_, ours_, {}), IsOk());
}

TEST_F(PostgresqlLeadTest, WhoReleasesIsFollowedAtOnce) {
  Lease("we", 2);
  ASSERT_THAT(we_.Release(ours_), IsOk());
  EXPECT_FALSE(we_.joined());
  ASSERT_THAT(Claim(they_, theirs_), IsOk());
  EXPECT_EQ(LedBy("they"), 2);
  EXPECT_EQ(Write(we_, ours_, {}).code(), absl::StatusCode::kNotFound);
}

TEST_F(PostgresqlLeadTest, AJobIsGivenToWhoLeadsTheFewest) {
  PostgresqlConnection third = schema_.Connect();
  PostgresqlLead fewest("fewest", kLease);
  ASSERT_THAT(fewest.Join("fewest:1", third), IsOk());
  Lease("we", 3);
  schema_.Run("UPDATE evenpack_leases SET server = 'they' WHERE job = 3");
  const auto give = [&](int64_t job) -> std::string {
    ours_.Queue("BEGIN");
    we_.QueueEnter(Epochs{{job, 1}}, ours_);
    we_.QueueGive(job, ours_);
    PostgresqlLead::QueueCommit(ours_);
    const auto rows = ours_.Exchange();
    if (!rows.ok()) return std::string(rows.status().message());
    return (*rows)[2].size() == 0 ? "nobody" : std::string((*rows)[2].Bytes(0, 0));
  };
  EXPECT_EQ(give(1), "fewest:1");
  EXPECT_THAT(Write(fewest, third, {{1, 2}}), IsOk());
  EXPECT_EQ(Write(we_, ours_, {{1, 1}}).code(), absl::StatusCode::kAborted);
  ASSERT_THAT(fewest.Leave(third), IsOk());
  Expire("they");
  EXPECT_EQ(give(2), "nobody");
  EXPECT_THAT(Write(we_, ours_, {{2, 1}}), IsOk());
}

TEST_F(PostgresqlLeadTest, OnANewConnectionNothingOfTheOldOneIsCarriedOut) {
  Lease("we", 1);
  // As the old connection's backend has it.
  theirs_.Queue("BEGIN");
  const int64_t number = we_.QueueEnter(Epochs{{1, 1}}, theirs_);
  ASSERT_THAT(we_.Rejoin(ours_), IsOk());
  EXPECT_EQ(theirs_.Exchange().status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(we_.IsCommitted(number, ours_).value());
  EXPECT_THAT(Write(we_, ours_, {{1, 1}}), IsOk());
  EXPECT_TRUE(we_.IsCommitted(number, ours_).value());
}

TEST_F(PostgresqlLeadTest, AnAttemptToConnectThatComesLateChangesNothing) {
  PostgresqlLead late = we_;
  ASSERT_THAT(we_.Rejoin(ours_), IsOk());
  ASSERT_THAT(we_.Rejoin(ours_), IsOk());
  EXPECT_EQ(late.Rejoin(theirs_).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Write(we_, ours_, {}), IsOk());
}

TEST_F(PostgresqlLeadTest, WhoLeftTakesNothingOnANewConnectionEither) {
  we_.LeaveLater();
  ASSERT_THAT(we_.Rejoin(ours_), IsOk());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers WHERE takes"), 1);
}

TEST_F(PostgresqlLeadTest, ARenewalIsNoCommit) {
  ours_.Queue("BEGIN");
  const int64_t number = we_.QueueEnter(Epochs{}, ours_);
  ASSERT_THAT(ours_.Exchange(), IsOk());
  ASSERT_THAT(ours_.Run("ROLLBACK"), IsOk());
  ASSERT_THAT(Renew(we_, ours_), IsOk());
  EXPECT_FALSE(we_.IsCommitted(number, ours_).value());
}

TEST_F(PostgresqlLeadTest, ServersThatAreLongGoneAreForgotten) {
  Lease("we", 2);
  schema_.Run(
      "UPDATE evenpack_servers SET expires = now() - interval '2 days' "
      "WHERE server = 'we'");
  // Not before all that it led is taken.
  ASSERT_THAT(Claim(they_, theirs_, 1), IsOk());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers"), 2);
  ASSERT_THAT(Claim(they_, theirs_, 1), IsOk());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers"), 1);
  EXPECT_EQ(Write(we_, ours_, {}).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace evenpack::testing
