#include "server/store/postgresql_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "server/store/postgresql_store.h"
#include "tests/server/store/lossy_link.h"
#include "tests/server/store/recorded_lead.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

constexpr std::chrono::milliseconds kReaderPatience{30'000};

class PostgresqlReaderTest : public ::testing::Test {
 protected:
  static absl::Status Ask(PostgresqlReader& reader, std::string_view statement) {
    return reader.Read([statement](PostgresqlConnection& connection) {
      return connection.Ask(statement).status();
    });
  }
  void CutConnections() const {
    schema_.Run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = current_setting('application_name') "
        "AND pid <> pg_backend_pid()");
  }
  // Returns once a statement of this test waits for a lock.
  void AwaitBlocked() const {
    while (schema_.Number("SELECT count(*) FROM pg_stat_activity "
                          "WHERE application_name = current_setting('application_name')"
                          " AND wait_event_type = 'Lock'") == 0) {
      // Until the test's time is over.
    }
  }

  ScratchPostgresql schema_;
};

TEST_F(PostgresqlReaderTest, ALostConnectionIsMadeAnewOnceForARead) {
  PostgresqlReader reader(schema_.target(), kReaderPatience);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Ask(reader, "SELECT 1"), IsOk());
    CutConnections();
  }
  reader.Close();
  EXPECT_THAT(Ask(reader, "SELECT 1"), IsOk());
}

TEST_F(PostgresqlReaderTest, ItConnectsAnewWhenItIsTold) {
  PostgresqlReader reader(schema_.target(), kReaderPatience);
  const auto process = [&reader] {
    int64_t number = 0;
    EXPECT_THAT(reader.Read([&number](PostgresqlConnection& connection) {
      const auto rows = connection.Ask("SELECT pg_backend_pid()::bigint");
      if (rows.ok()) number = rows->Integer(0, 0);
      return rows.status();
    }),
                IsOk());
    return number;
  };
  const int64_t first = process();
  EXPECT_EQ(process(), first);
  reader.Renew();
  const int64_t second = process();
  EXPECT_NE(second, first);
  EXPECT_EQ(process(), second);
}

TEST_F(PostgresqlReaderTest, WhereThereIsNoDatabaseItSaysSo) {
  LossyLink nobody(1);
  PostgresqlReader reader(schema_.TargetAt(nobody.port()), kReaderPatience);
  EXPECT_EQ(Ask(reader, "SELECT 1").code(), absl::StatusCode::kUnavailable);
}

TEST_F(PostgresqlReaderTest, AReadThatFailsLeavesNoTransaction) {
  PostgresqlReader reader(schema_.target(), kReaderPatience);
  const absl::Status failed = reader.Read([](PostgresqlConnection& connection) {
    connection.Queue("BEGIN");
    connection.Queue("SELECT 1 / 0");
    return connection.Exchange().status();
  });
  EXPECT_EQ(failed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Ask(reader, "SELECT 1"), IsOk());
}

TEST_F(PostgresqlReaderTest, NeitherReadsNorCommitsOfAStoreWaitForTheOthers) {
  const auto store = PostgresqlStore::Open(schema_.target()).value();
  RecordedLead lead;
  ASSERT_THAT(store->Join("here:1", lead), IsOk());
  const auto commit = [&store](const StoreWrite& write) {
    return store->Commit(std::vector<StoreWrite>{write});
  };
  ASSERT_THAT(commit(AppendRecord{"a", 0, ""}), IsOk());
  PostgresqlConnection blocking = schema_.Connect();
  ASSERT_THAT(blocking.Run("BEGIN; LOCK TABLE evenpack_snapshots"), IsOk());
  std::thread reads([&store] { EXPECT_THAT(store->Load("a"), IsOk()); });
  AwaitBlocked();
  EXPECT_THAT(commit(AppendRecord{"a", 1, ""}), IsOk());
  // A job may take long to read.
  EXPECT_THAT(store->Locate("a"), IsOk());
  EXPECT_THAT(store->Profiles(), IsOk());
  ASSERT_THAT(blocking.Run("COMMIT; BEGIN; LOCK TABLE evenpack_records IN SHARE MODE"),
              IsOk());
  reads.join();
  std::thread commits([&] { EXPECT_THAT(commit(AppendRecord{"a", 2, ""}), IsOk()); });
  AwaitBlocked();
  EXPECT_THAT(store->Locate("a"), IsOk());
  EXPECT_THAT(store->Profiles(), IsOk());
  ASSERT_THAT(blocking.Run("COMMIT"), IsOk());
  commits.join();
  EXPECT_EQ(store->Load("a")->records.size(), 3U);
}

}  // namespace
}  // namespace evenpack::testing
