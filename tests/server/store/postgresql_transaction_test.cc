#include "server/store/postgresql_transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/sharing_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Writes = std::vector<StoreWrite>;

class PostgresqlTransactionTest : public ::testing::Test {
 protected:
  // A job's first record, and a snapshot of so many bytes behind it.
  static Writes WithSnapshot(size_t bytes) {
    Writes writes = {AppendRecord{"a", 0, "first"}};
    writes.emplace_back(WriteSnapshot{"a", 1, std::string(bytes, 's')});
    writes.emplace_back(AppendRecord{"a", 1, "second"});
    return writes;
  }

  ScratchPostgresql schema_;
  SharingServer server_{schema_.target(), "here:1"};
};

// As on a disk that is as slow as it may be, and a machine that has much else to do.
// Other statements have 5 s, and without a sign of the database a connection counts as
// lost after 8.
TEST_F(PostgresqlTransactionTest, ALargeSnapshotHasTheTimeThatItTakes) {
  schema_.Run(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN PERFORM pg_sleep(8.5); RETURN NEW; END $$;"
      "CREATE TRIGGER slow BEFORE INSERT ON evenpack_snapshots FOR EACH ROW "
      "EXECUTE FUNCTION slow()");
  ASSERT_THAT(server_.Commit(WithSnapshot(std::size_t{100} << 20)), IsOk());
  EXPECT_THAT(server_.lead().Take(), IsEmpty());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_servers "
                           "WHERE expires > clock_timestamp()"),
            1);
  EXPECT_EQ(server_.store().Load("a")->snapshot.size(), std::size_t{100} << 20);
}

TEST_F(PostgresqlTransactionTest, ASnapshotThatNoValueHoldsIsLeftOutAndTheJobGoesOn) {
  ASSERT_THAT(server_.Commit(WithSnapshot((std::size_t{1000} << 20) + 1)), IsOk());
  const absl::StatusOr<StoredJob> job = server_.store().Load("a");
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->snapshot, "");
  EXPECT_THAT(job->records, ElementsAre("first", "second"));
  EXPECT_THAT(
      server_.Commit({AppendRecord{"a", 2, "third"}, WriteSnapshot{"a", 3, "s"}}),
      IsOk());
  EXPECT_EQ(server_.store().Load("a")->snapshot, "s");
}

}  // namespace
}  // namespace evenpack::testing
