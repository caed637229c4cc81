#include "server/store/sqlite_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/fault_disk.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::FaultDisk;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

class SqliteDatabaseTest : public ::testing::Test {
 protected:
  SqliteDatabase Open() {
    return SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate).value();
  }

  ScratchDirectory directory_;
  const std::string path_ = directory_.File("database");
};

TEST_F(SqliteDatabaseTest, GivesBackWhatWasBound) {
  SqliteDatabase database = Open();
  ASSERT_THAT(database.Run("CREATE TABLE t (number, bytes, text)"), IsOk());
  const std::string bytes("\0\xff\0", 3);
  {
    SqliteStatement insert =
        database.Prepare("INSERT INTO t VALUES (?1, ?2, ?3)").value();
    EXPECT_THAT(insert.Bind(1, int64_t{-5}).Bind(2, bytes).BindText(3, "x").Run(),
                IsOk());
    EXPECT_THAT(insert.Bind(1, int64_t{6}).Bind(2, "").BindText(3, "").Run(), IsOk());
  }
  SqliteStatement select = database.Prepare("SELECT * FROM t ORDER BY number").value();
  ASSERT_TRUE(select.Next().value());
  EXPECT_EQ(select.Integer(0), -5);
  EXPECT_EQ(select.Bytes(1), bytes);
  EXPECT_EQ(select.Bytes(2), "x");
  ASSERT_TRUE(select.Next().value());
  EXPECT_EQ(select.Bytes(1), "");
  EXPECT_FALSE(select.Next().value());
  EXPECT_TRUE(select.Next().value()) << "anew";
  EXPECT_EQ(database.Number("SELECT count(*) FROM t").value(), 2);
  EXPECT_EQ(database.Number("SELECT count(*) FROM t WHERE bytes IS NULL").value(), 0)
      << "no bytes are not NULL";
  EXPECT_EQ(database.Number("SELECT number FROM t WHERE number > 10").value(), 0);
  EXPECT_EQ(database.Text("SELECT text FROM t").value(), "x");
}

TEST_F(SqliteDatabaseTest, ALongLogIsCopiedIntoTheFile) {
  SqliteDatabase database = Open();
  ASSERT_THAT(database.Text("PRAGMA journal_mode = WAL").status(), IsOk());
  ASSERT_THAT(database.Run("CREATE TABLE t (bytes)"), IsOk());
  ASSERT_THAT(database.Run("INSERT INTO t VALUES (zeroblob(1000000))"), IsOk());
  EXPECT_LT(std::filesystem::file_size(path_), 1'000'000U);
  ASSERT_THAT(database.Run("INSERT INTO t VALUES (zeroblob(4000000))"), IsOk());
  EXPECT_GT(std::filesystem::file_size(path_), 5'000'000U);
}

TEST_F(SqliteDatabaseTest, TellsOneErrorFromAnother) {
  SqliteDatabase database = Open();
  EXPECT_THAT(database.Run("nonsense"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nonsense")));
  EXPECT_THAT(database.Prepare("SELECT * FROM none").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("none")));
  ASSERT_THAT(database.Run("CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES (1)"),
              IsOk());
  EXPECT_THAT(database.Run("INSERT INTO t VALUES (1)"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("UNIQUE")));
  ASSERT_THAT(database.Run("PRAGMA max_page_count = 3"), IsOk());
  EXPECT_THAT(database.Run("INSERT INTO t VALUES (zeroblob(100000))"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("full")));
  ASSERT_THAT(database.Run("BEGIN EXCLUSIVE"), IsOk());
  EXPECT_THAT(Open().Run("BEGIN EXCLUSIVE"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("in use by another process")));
  ASSERT_THAT(database.Run("COMMIT"), IsOk());
  auto reader = SqliteDatabase::Open(path_, SqliteDatabase::Mode::kReadOnly);
  EXPECT_THAT(reader->Run("INSERT INTO t VALUES (2)"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("readonly")));
  EXPECT_THAT(
      SqliteDatabase::Open(directory_.path(), SqliteDatabase::Mode::kCreate).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("open")));
}

// A row of many pages, none of which is in memory.
class SqliteDiskTest : public SqliteDatabaseTest {
 protected:
  void SetUp() override {
    SqliteDatabase database = Open();
    ASSERT_THAT(database.Run("CREATE TABLE t (bytes);"
                             "INSERT INTO t VALUES (randomblob(1000000))"),
                IsOk());
  }
  static absl::StatusOr<std::string> Read(SqliteDatabase& database) {
    return database.Text("SELECT bytes FROM t");
  }

  FaultDisk disk_;
};

TEST_F(SqliteDiskTest, ADiskThatCanNotBeReadIsNoDamage) {
  SqliteDatabase database = Open();
  const auto refused = StatusIs(absl::StatusCode::kUnavailable,
                                "store: the file or its log can't be read: "
                                "Input/output error; accepted: a disk that gives them");
  SqliteStatement select = database.Prepare("SELECT bytes FROM t").value();
  disk_.SetReadable(false);
  EXPECT_THAT(select.Next(), refused);
  EXPECT_THAT(Read(database), refused);
  EXPECT_THAT(database.Run("DELETE FROM t"), refused);
  disk_.SetReadable(true);
  EXPECT_EQ(Read(database)->size(), 1'000'000U);
}

TEST_F(SqliteDiskTest, DamageThatIsFoundAfterwardsIsDamage) {
  SqliteDatabase database = Open();
  disk_.SetReadable(false);
  EXPECT_THAT(Read(database), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  disk_.SetReadable(true);
  // Its first page says where the row's others are.
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(4096).write(std::string(4096, '\0').data(), 4096).flush();
  EXPECT_THAT(Read(database),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed")));
}

}  // namespace
}  // namespace evenpack
