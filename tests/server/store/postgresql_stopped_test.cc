#include "server/store/postgresql_stopped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "server/store/postgresql_schema.h"
#include "tests/server/store/held_transaction.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using std::chrono::milliseconds;

constexpr char kLockRow[] =
    "UPDATE evenpack_servers SET commits = 1 WHERE server = 'a'";
constexpr milliseconds kAnHour{3'600'000};

class PostgresqlStoppedTest : public ::testing::Test {
 protected:
  PostgresqlStoppedTest() {
    EXPECT_THAT(PreparePostgresql(connection_), IsOk());
    schema_.Run("INSERT INTO evenpack_servers VALUES ('a', now(), 0)");
  }
  int64_t End(milliseconds silence) {
    return EndStoppedTransactions(silence, connection_).value();
  }
  // Returns once a connection of this test, in a statement with that text, waits so.
  void AwaitWaiting(const std::string& type) const {
    while (schema_.Number("SELECT count(*) FROM pg_stat_activity WHERE "
                          "application_name = current_setting('application_name') AND "
                          "backend_xid IS NOT NULL AND wait_event_type = '" +
                          type + "'") == 0) {
      // Until the test's time is over.
    }
  }

  ScratchPostgresql schema_;
  PostgresqlConnection connection_ = schema_.Connect();
};

TEST_F(PostgresqlStoppedTest, OneThatIsSilentIsEnded) {
  HeldTransaction held(schema_.target(), {kLockRow}, 1);
  AwaitWaiting("Client");
  EXPECT_EQ(End(milliseconds(0)), 1);
  while (held.Lives()) {
  }
  schema_.Run(kLockRow);
  EXPECT_EQ(End(milliseconds(0)), 0);
}

TEST_F(PostgresqlStoppedTest, OneThatMayYetGoOnIsLeft) {
  HeldTransaction held(schema_.target(), {kLockRow}, 1);
  AwaitWaiting("Client");
  EXPECT_EQ(End(kAnHour), 0);
  EXPECT_TRUE(held.Lives());
}

TEST_F(PostgresqlStoppedTest, WhatTheDatabaseIsAtIsLeft) {
  // It ends with the connection.
  HeldTransaction held(schema_.target(),
                       {"SET LOCAL client_connection_check_interval = 10", kLockRow,
                        "SELECT pg_sleep(3600)"},
                       2);
  AwaitWaiting("Timeout");
  EXPECT_EQ(End(milliseconds(0)), 0);
  EXPECT_TRUE(held.Lives());
}

TEST_F(PostgresqlStoppedTest, WhatHoldsNothingThatServersLockIsLeft) {
  HeldTransaction held(
      schema_.target(),
      {"CREATE TABLE other (x integer)", "SELECT 1 FROM evenpack_servers"}, 2);
  AwaitWaiting("Client");
  EXPECT_EQ(End(milliseconds(0)), 0);
  EXPECT_TRUE(held.Lives());
}

}  // namespace
}  // namespace evenpack::testing
