#include "server/store/postgresql_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/sharing_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::SizeIs;
using Writes = std::vector<StoreWrite>;

class PostgresqlLoadTest : public ::testing::Test {
 protected:
  // Records whose bytes say which they are.
  static Writes Records(uint64_t count) {
    Writes writes;
    writes.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      writes.emplace_back(AppendRecord{"a", i, absl::StrCat(i)});
    }
    return writes;
  }

  ScratchPostgresql schema_;
  SharingServer server_{schema_.target(), "here:1"};
};

// A statement may take 5 s (postgresql_schema.cc). Every thousandth row takes more than
// one, as all together do on a slow disk.
TEST_F(PostgresqlLoadTest, ManyRecordsAreReadWhateverTimeTheyTakeTogether) {
  ASSERT_THAT(server_.Commit(Records(5600)), IsOk());
  schema_.Run(
      "ALTER TABLE evenpack_records RENAME TO slow_records;"
      "CREATE VIEW evenpack_records AS SELECT place, bytes, checksum FROM slow_records "
      "WHERE CASE WHEN place % 1000 = 7 THEN pg_sleep(1.2) IS NOT NULL ELSE true END");
  const absl::StatusOr<StoredJob> job = server_.store().Load("a");
  ASSERT_THAT(job, IsOk());
  ASSERT_THAT(job->records, SizeIs(5600));
  EXPECT_EQ(job->records.back(), "5599");
}

TEST_F(PostgresqlLoadTest, AJobOfManyPagesIsReadAsItWasWritten) {
  std::string snapshot(std::size_t{20} << 20, 's');
  for (size_t i = 0; i < snapshot.size(); i += 4099) snapshot[i] = static_cast<char>(i);
  Writes writes = Records(2500);
  writes.emplace_back(WriteSnapshot{"a", 2500, snapshot});
  for (uint64_t i = 0; i < 2000; ++i) {
    // Some as large as a page or larger, which end it.
    const size_t size = i % 500 == 3 ? 9 << 20 : i % 500 == 4 ? 8 << 20 : 5;
    writes.emplace_back(AppendRecord{"a", 2500 + i, std::string(size, 'r')});
  }
  for (uint32_t stream = 0; stream < 3; ++stream) {
    for (uint64_t i = 0; i < 700; ++i) {
      const size_t size = i == 350 ? 10 << 20 : 7;
      writes.emplace_back(PutTokens{"a", stream, i * 11, std::string(size, 't')});
    }
  }
  ASSERT_THAT(server_.Commit(writes), IsOk());
  const absl::StatusOr<StoredJob> job = server_.store().Load("a");
  ASSERT_THAT(job, IsOk());
  EXPECT_TRUE(job->snapshot == snapshot);
  EXPECT_EQ(job->snapshot_records, 2500U);
  ASSERT_THAT(job->records, SizeIs(2000));
  EXPECT_EQ(job->records[503].size(), std::size_t{9} << 20);
  EXPECT_EQ(job->records[1999].size(), 5U);
  ASSERT_THAT(job->tokens, SizeIs(3 * 700));
  for (size_t i = 0; i < job->tokens.size(); ++i) {
    ASSERT_EQ(job->tokens[i].stream, i / 700);
    ASSERT_EQ(job->tokens[i].first_sequence, i % 700 * 11);
  }
}

// A large snapshot's checksum takes seconds, and longer where the machine has much to
// do.
TEST_F(PostgresqlLoadTest, ItMayTakeTimeBetweenItsStatements) {
  Writes writes = Records(1);
  writes.emplace_back(WriteSnapshot{"a", 1, std::string(std::size_t{20} << 20, 's')});
  ASSERT_THAT(server_.Commit(writes), IsOk());
  schema_.Run("UPDATE evenpack_leases SET server = 'this'");
  PostgresqlConnection hasty = schema_.Connect();
  ASSERT_THAT(hasty.Run("SET idle_in_transaction_session_timeout = '1ms'"), IsOk());
  const absl::StatusOr<LoadedJob> loaded = LoadJob("this", "a", hasty);
  ASSERT_THAT(loaded, IsOk());
  ASSERT_THAT(loaded->job, IsOk());
  EXPECT_THAT(loaded->job->snapshot, SizeIs(std::size_t{20} << 20));
}

TEST_F(PostgresqlLoadTest, ManyProfilesAreAllRead) {
  Writes writes;
  for (int i = 0; i < 1001; ++i) {
    writes.emplace_back(WriteProfile{absl::StrCat("p", i), absl::StrCat(i)});
  }
  writes.emplace_back(WriteProfile{"large", std::string(std::size_t{9} << 20, 'l')});
  ASSERT_THAT(server_.Commit(writes), IsOk());
  const absl::StatusOr<StoredProfiles> profiles = server_.store().Profiles();
  ASSERT_THAT(profiles, IsOk());
  EXPECT_THAT(*profiles, SizeIs(1002));
  EXPECT_EQ(*profiles->at("p1000"), "1000");
  EXPECT_EQ(profiles->at("large")->size(), std::size_t{9} << 20);
}

}  // namespace
}  // namespace evenpack::testing
