#include "server/store/sqlite_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

class SqliteSchemaTest : public ::testing::Test {
 protected:
  SqliteDatabase Open() {
    return SqliteDatabase::Open(directory_.File("store"), SqliteDatabase::Mode::kCreate)
        .value();
  }

  ScratchDirectory directory_;
};

TEST_F(SqliteSchemaTest, WritesAreFlushedAndTheFileIsNotMapped) {
  SqliteDatabase database = Open();
  ASSERT_THAT(PrepareToWrite(database), IsOk());
  EXPECT_EQ(database.Text("PRAGMA journal_mode").value(), "wal");
  EXPECT_EQ(database.Number("PRAGMA synchronous").value(), 2) << "FULL";
  EXPECT_EQ(database.Number("PRAGMA mmap_size").value(), 0);
  EXPECT_EQ(database.Text("PRAGMA locking_mode").value(), "exclusive");
  EXPECT_EQ(database.Number("PRAGMA user_version").value(), kStoreFormatVersion);
}

TEST_F(SqliteSchemaTest, MayBePreparedAgain) {
  {
    SqliteDatabase database = Open();
    ASSERT_THAT(PrepareToWrite(database), IsOk());
    ASSERT_THAT(database.Run("INSERT INTO jobs VALUES (1, 'a', x'00')"), IsOk());
  }
  SqliteDatabase database = Open();
  ASSERT_THAT(PrepareToWrite(database), IsOk());
  EXPECT_EQ(database.Number("SELECT count(*) FROM jobs").value(), 1);
}

TEST_F(SqliteSchemaTest, AFileOfTheFirstVersionIsMigrated) {
  {
    SqliteDatabase database = Open();
    ASSERT_THAT(PrepareToWrite(database), IsOk());
    ASSERT_THAT(database.Run("INSERT INTO jobs VALUES (1, 'a', x'00');"
                             "DROP TABLE profiles; DROP TABLE tokens;"
                             "PRAGMA user_version = 1"),
                IsOk());
  }
  SqliteDatabase database = Open();
  ASSERT_THAT(PrepareToWrite(database), IsOk());
  EXPECT_EQ(database.Number("PRAGMA user_version").value(), kStoreFormatVersion);
  EXPECT_EQ(database.Number("SELECT count(*) FROM jobs").value(), 1);
  EXPECT_EQ(database.Number("SELECT count(*) FROM profiles").value(), 0);
  EXPECT_EQ(database.Number("SELECT count(*) FROM tokens").value(), 0);
}

TEST_F(SqliteSchemaTest, ReadingNeedsTables) {
  SqliteDatabase database = Open();
  EXPECT_THAT(PrepareToRead(database),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing")));
  ASSERT_THAT(PrepareToWrite(database), IsOk());
  EXPECT_THAT(PrepareToRead(database), IsOk());
}

}  // namespace
}  // namespace evenpack
