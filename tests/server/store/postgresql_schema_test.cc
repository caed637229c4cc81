#include "server/store/postgresql_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "server/store/postgresql_store.h"
#include "server/store/stored_row.h"
#include "tests/server/store/recorded_lead.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As a server of format 1 made it.
constexpr char kFormat1[] = R"(
    CREATE TABLE evenpack_format (version bigint NOT NULL);
    CREATE SEQUENCE evenpack_job_ids;
    CREATE TABLE evenpack_jobs (
      id bigint PRIMARY KEY, name text NOT NULL UNIQUE, checksum bytea NOT NULL);
    CREATE TABLE evenpack_snapshots (
      job bigint PRIMARY KEY, records bigint NOT NULL, bytes bytea NOT NULL,
      checksum bytea NOT NULL);
    CREATE TABLE evenpack_records (
      place bigint PRIMARY KEY, bytes bytea NOT NULL, checksum bytea NOT NULL);
    CREATE TABLE evenpack_profiles (
      name text PRIMARY KEY, bytes bytea NOT NULL, checksum bytea NOT NULL);
    CREATE TABLE evenpack_tokens (
      job bigint NOT NULL, stream bigint NOT NULL, first bigint NOT NULL,
      bytes bytea NOT NULL, checksum bytea NOT NULL, PRIMARY KEY (job, stream, first));
    CREATE TABLE evenpack_servers (
      server text PRIMARY KEY, expires timestamptz NOT NULL, commits bigint NOT NULL
    ) WITH (fillfactor = 10);
    CREATE TABLE evenpack_leases (
      job bigint PRIMARY KEY, server text NOT NULL, epoch bigint NOT NULL
    ) WITH (fillfactor = 50);
    INSERT INTO evenpack_leases VALUES (0, '', 0);
    CREATE FUNCTION evenpack_fence(
        me text, number bigint, milliseconds bigint, wanted bigint[], epochs bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
      DECLARE held bigint;
      BEGIN
        UPDATE evenpack_servers
          SET commits = greatest(commits, number),
              expires = clock_timestamp() + milliseconds * interval '1 millisecond'
          WHERE server = me;
        SELECT count(*) INTO held FROM (
          SELECT 1 FROM evenpack_leases AS lease
            JOIN unnest(wanted, epochs) AS mine(job, epoch)
              ON lease.job = mine.job AND lease.epoch = mine.epoch
            WHERE lease.server = me
            FOR NO KEY UPDATE OF lease) AS locked;
        IF held <> cardinality(wanted) THEN
          RAISE EXCEPTION 'another server leads' USING ERRCODE = 'EV001';
        END IF;
      END $$;
    CREATE FUNCTION evenpack_take(me text, milliseconds bigint)
        RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION evenpack_rejoin(me text, milliseconds bigint, expected bigint)
        RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
    INSERT INTO evenpack_format VALUES (1);
)";

// Its leader, with a job of one record.
constexpr char kServer1[] = R"(
    INSERT INTO evenpack_servers VALUES ('old', now() + interval '1 hour', 7);
    UPDATE evenpack_leases SET server = 'old', epoch = 4;
    INSERT INTO evenpack_leases VALUES (1, 'old', 2);
    SELECT nextval('evenpack_job_ids');
)";

constexpr char kFence1[] =
    "SELECT evenpack_fence('old', 8, 3000, ARRAY[0, 1]::bigint[], "
    "ARRAY[4, 2]::bigint[])";

class PostgresqlSchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PostgresqlConnection connection = schema_.Connect();
    ASSERT_THAT(connection.Run(kFormat1), IsOk());
    ASSERT_THAT(connection.Run(kServer1), IsOk());
    connection.Queue("INSERT INTO evenpack_jobs VALUES (1, 'a', $1::bytea)",
                     PostgresqlValues().Add(RowChecksum(kJobsTable, 1, 0, "a")));
    connection.Queue("INSERT INTO evenpack_records VALUES ($1::bigint, 'r', $2::bytea)",
                     PostgresqlValues()
                         .Add(RecordPlace(1, 0))
                         .Add(RowChecksum(kRecordsTable, RecordPlace(1, 0), 0, "r")));
    ASSERT_THAT(connection.Exchange(), IsOk());
  }

  ScratchPostgresql schema_;
};

TEST_F(PostgresqlSchemaTest, TheJobsOfFormat1AreLedByThoseWhoComeAfterIt) {
  const auto store = PostgresqlStore::Open(schema_.target()).value();
  EXPECT_EQ(schema_.Number("SELECT max(version) FROM evenpack_format"),
            kPostgresqlFormatVersion);
  RecordedLead lead;
  ASSERT_THAT(store->Join("here:1", lead), IsOk());
  EXPECT_THAT(lead.Take(), ElementsAre("taken a"));
  EXPECT_THAT(store->Load("a")->records, ElementsAre("r"));
  const StoreWrite writes[] = {AppendRecord{"a", 1, "s"}, AppendRecord{"b", 0, "b"}};
  EXPECT_THAT(store->Commit(writes), IsOk());
}

TEST_F(PostgresqlSchemaTest, AServerOfFormat1WritesNothingMore) {
  PostgresqlConnection old = schema_.Connect();
  ASSERT_THAT(old.Ask(kFence1), IsOk());
  ASSERT_THAT(PostgresqlStore::Open(schema_.target()), IsOk());
  EXPECT_THAT(old.Ask(kFence1),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("another server leads")));
  EXPECT_THAT(
      old.Ask("SELECT evenpack_take('old', 3000)"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("evenpack_take")));
}

TEST_F(PostgresqlSchemaTest, ATransactionOfFormat1IsAwaited) {
  PostgresqlConnection old = schema_.Connect();
  ASSERT_THAT(old.Run("BEGIN"), IsOk());
  ASSERT_THAT(old.Ask(kFence1), IsOk());
  PostgresqlConnection connection = schema_.Connect();
  std::thread migrating(
      [&connection] { EXPECT_THAT(PreparePostgresql(connection), IsOk()); });
  while (schema_.Number("SELECT count(*) FROM pg_locks WHERE NOT granted "
                        "AND relation = 'evenpack_servers'::regclass") == 0) {
    // Until the test's time is over.
  }
  EXPECT_EQ(schema_.Number("SELECT version FROM evenpack_format"), 1);
  EXPECT_THAT(old.Run("COMMIT"), IsOk());
  migrating.join();
  EXPECT_EQ(schema_.Number("SELECT version FROM evenpack_format"),
            kPostgresqlFormatVersion);
}

// It had called its function before that was replaced.
TEST_F(PostgresqlSchemaTest, AFenceOfFormat1ThatWaitedIsRefused) {
  PostgresqlConnection migrating = schema_.Connect();
  schema_.Run("ALTER FUNCTION evenpack_fence RENAME TO old_fence");
  ASSERT_THAT(PreparePostgresql(migrating), IsOk());
  PostgresqlConnection old = schema_.Connect();
  EXPECT_THAT(old.Ask("SELECT old_fence('old', 8, 3000, ARRAY[1]::bigint[], "
                      "ARRAY[2]::bigint[])"),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("another server leads")));
}

TEST_F(PostgresqlSchemaTest, AMigrationThatFailsChangesNothing) {
  schema_.Run("CREATE TABLE evenpack_profile_changes (mine integer)");
  EXPECT_THAT(PostgresqlStore::Open(schema_.target()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("evenpack_profile_changes")));
  PostgresqlConnection old = schema_.Connect();
  EXPECT_THAT(old.Ask(kFence1), IsOk());
  EXPECT_EQ(schema_.Number("SELECT version FROM evenpack_format"), 1);
}

}  // namespace
}  // namespace evenpack::testing
