#include "server/store/postgresql_leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_schema.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::Eq;

class PostgresqlLeftoversTest : public ::testing::Test {
 protected:
  PostgresqlLeftoversTest() { EXPECT_THAT(PreparePostgresql(connection_), IsOk()); }
  // A job, or what is left of one, of so many records from number 0 on.
  void Fill(int64_t job, int64_t records, bool there) const {
    if (there) {
      schema_.Run(absl::StrCat("INSERT INTO evenpack_jobs VALUES (", job, ", 'job", job,
                               "', '')"));
    }
    schema_.Run(
        absl::StrCat("INSERT INTO evenpack_records SELECT (", job,
                     "::bigint << 40) + number, 'r', '' FROM generate_series(0, ",
                     records - 1, ") AS number"));
  }
  void Snapshot(int64_t job, int64_t records) const {
    schema_.Run(absl::StrCat("INSERT INTO evenpack_snapshots VALUES (", job, ", ",
                             records, ", '', '')"));
  }
  int64_t Records() const {
    return schema_.Number("SELECT count(*) FROM evenpack_records");
  }

  ScratchPostgresql schema_;
  PostgresqlConnection connection_ = schema_.Connect();
};

TEST_F(PostgresqlLeftoversTest, OnlyWhatTheSnapshotInTheDatabaseCoversGoes) {
  Fill(1, 5, /*there=*/true);
  Fill(2, 5, /*there=*/true);
  // The database went back behind any snapshot, or behind the last one.
  EXPECT_THAT(RemoveCovered(1, 4, connection_).value(), Eq(false));
  EXPECT_EQ(Records(), 10);
  Snapshot(1, 2);
  EXPECT_THAT(RemoveCovered(1, 4, connection_).value(), Eq(true));
  EXPECT_THAT(RemoveCovered(1, 4, connection_).value(), Eq(false));
  EXPECT_EQ(Records(), 8);
}

TEST_F(PostgresqlLeftoversTest, OnlyWhatIsKnownToBeCoveredGoes) {
  Fill(1, 5, /*there=*/true);
  // A number that has changed in the table.
  Snapshot(1, 1000);
  EXPECT_THAT(RemoveCovered(1, 3, connection_).value(), Eq(true));
  EXPECT_THAT(RemoveCovered(1, 3, connection_).value(), Eq(false));
  EXPECT_EQ(Records(), 2);
}

TEST_F(PostgresqlLeftoversTest, ABatchIsOfAThousandRowsOrAFewMebibytes) {
  Fill(1, 1500, /*there=*/true);
  Snapshot(1, 1500);
  EXPECT_THAT(RemoveCovered(1, 1500, connection_).value(), Eq(true));
  EXPECT_EQ(Records(), 500);
  schema_.Run(
      "UPDATE evenpack_records SET bytes = decode(repeat('61', 3000000), 'hex') "
      "WHERE place & 255 < 8");
  const int64_t before = Records();
  EXPECT_THAT(RemoveCovered(1, 1500, connection_).value(), Eq(true));
  EXPECT_GT(Records(), 0);
  EXPECT_LT(Records(), before);
}

TEST_F(PostgresqlLeftoversTest, OfAJobThatIsThereNothingGoesWhateverIsMarked) {
  Fill(7, 3, /*there=*/true);
  schema_.Run("INSERT INTO evenpack_tokens VALUES (7, 1, 1, '', '')");
  Snapshot(-7, 0);
  EXPECT_THAT(RemoveRemoved(connection_).value(), Eq(false));
  EXPECT_EQ(Records(), 3);
  schema_.Run("DELETE FROM evenpack_jobs");
  while (RemoveRemoved(connection_).value()) {
  }
  EXPECT_EQ(Records(), 0);
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_tokens"), 0);
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_snapshots"), 0);
}

}  // namespace
}  // namespace evenpack::testing
