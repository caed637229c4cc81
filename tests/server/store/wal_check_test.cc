#include "server/store/wal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite_database.h"
#include "server/store/sqlite_schema.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

// A log as SQLite writes it: one page changes with each of eight commits.
class WalCheckTest : public ::testing::Test {
 protected:
  static constexpr size_t kHeaderBytes = 32;
  static constexpr size_t kFrameBytes = 24 + 4096;

  void SetUp() override {
    SqliteDatabase database =
        SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate).value();
    ASSERT_THAT(PrepareToWrite(database), IsOk());
    ASSERT_THAT(database.Run("PRAGMA wal_checkpoint(TRUNCATE)"), IsOk());
    for (int i = 0; i < 8; ++i) {
      ASSERT_THAT(CommitOnce(database, i), IsOk());
    }
    log_ = LogOf(path_);
    ASSERT_EQ(log_.size(), kHeaderBytes + 8 * kFrameBytes);
  }
  static std::string LogOf(const std::string& path) {
    return testing::FileBytes(path + "-wal");
  }
  // Changes one page.
  static absl::Status CommitOnce(SqliteDatabase& database, int number) {
    return database.Run(
        absl::StrCat("REPLACE INTO snapshots VALUES (1, ", number, ", x'00', x'00')"));
  }
  // Takes the files of a database as a crash leaves them.
  static void Crash(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(from + suffix, to + suffix);
    }
  }
  std::string Flipped(size_t at) const {
    std::string log = log_;
    log[at] = static_cast<char>(log[at] ^ 4);
    return log;
  }

  ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
  std::string log_;
};

TEST_F(WalCheckTest, AWholeLogIsWhole) {
  EXPECT_THAT(CheckWal(log_), IsOk());
  EXPECT_THAT(CheckWal(""), IsOk());
  EXPECT_THAT(CheckWalOf(directory_.File("none")), IsOk());
}

TEST_F(WalCheckTest, ALogThatEndsAnywhereHasATornTail) {
  for (size_t size = 0; size < log_.size(); size += 97) {
    EXPECT_THAT(CheckWal(log_.substr(0, size)), IsOk()) << size;
  }
}

TEST_F(WalCheckTest, DamageIsNamedWhereCommitsFollow) {
  for (size_t frame = 0; frame < 8; ++frame) {
    for (const size_t at : {0U, 4U, 8U, 16U, 24U, 1000U, 4119U}) {
      const absl::Status status =
          CheckWal(Flipped(kHeaderBytes + frame * kFrameBytes + at));
      // The last commit, with the first byte of nothing behind it, may be torn.
      if (frame == 7) {
        EXPECT_THAT(status, IsOk());
        continue;
      }
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr("frame " + std::to_string(frame) + " of")))
          << at;
    }
  }
}

TEST_F(WalCheckTest, AFrameThatIsGoneIsNamedWhereMoreThanOneCommitFollows) {
  for (size_t frame = 0; frame < 8; ++frame) {
    std::string log = log_;
    log.replace(kHeaderBytes + frame * kFrameBytes, kFrameBytes, kFrameBytes, '\0');
    if (frame < 6) {
      EXPECT_THAT(CheckWal(log),
                  StatusIs(absl::StatusCode::kDataLoss,
                           HasSubstr("frame " + std::to_string(frame) + " of")));
    } else {
      // Nothing tells it from a commit of two frames that is torn.
      EXPECT_THAT(CheckWal(log), IsOk());
    }
  }
}

// Frames of a commit that a crash cut off stay behind the end, with the salt of those
// that are written over them after it.
TEST_F(WalCheckTest, ACommitThatIsTornAmongFramesOfACrashBeforeIsATornTail) {
  const std::string crashed = directory_.File("crashed");
  {
    SqliteDatabase database =
        SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate).value();
    ASSERT_THAT(PrepareToWrite(database), IsOk());
    ASSERT_THAT(CommitOnce(database, 1), IsOk());
    // Too much for the cache: frames are written before there is a commit.
    ASSERT_THAT(database.Run("PRAGMA cache_size = 1; BEGIN;"
                             "INSERT INTO snapshots VALUES (2, 1, zeroblob(99999), "
                             "x'00'); INSERT INTO snapshots VALUES (3, 1, x'', x'');"),
                IsOk());
    Crash(path_, crashed);
  }
  const std::string before = LogOf(crashed);
  ASSERT_GT(before.size(), kHeaderBytes + 9 * kFrameBytes);
  EXPECT_THAT(CheckWal(before), IsOk());
  SqliteDatabase database =
      SqliteDatabase::Open(crashed, SqliteDatabase::Mode::kCreate).value();
  ASSERT_THAT(PrepareToWrite(database), IsOk());
  ASSERT_THAT(CommitOnce(database, 2), IsOk());
  ASSERT_THAT(CommitOnce(database, 3), IsOk());
  const std::string after = LogOf(crashed);
  ASSERT_EQ(after.size(), before.size());
  // The two commits, cut off at many places.
  for (size_t size = kHeaderBytes + kFrameBytes; size < kHeaderBytes + 3 * kFrameBytes;
       size += 31) {
    ASSERT_THAT(CheckWal(after.substr(0, size) + before.substr(size)), IsOk()) << size;
  }
  // What is damaged is found among such frames too.
  std::string damaged = after;
  damaged[kHeaderBytes + kFrameBytes + 1000] ^= 1;
  EXPECT_THAT(CheckWal(damaged),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("frame 1 of")));
}

TEST_F(WalCheckTest, WhatAnEarlierLogLeftBehindTheEndDoesNotCount) {
  std::string log = log_;
  // Another salt from frame 5 on.
  for (size_t frame = 5; frame < 8; ++frame) {
    log[kHeaderBytes + frame * kFrameBytes + 8] ^= 1;
  }
  EXPECT_THAT(CheckWal(log), IsOk());
}

// SQLite reads none of such a log. Its pages are no whole number of the checksum's
// words.
TEST(WalHeaderTest, ALogOfPagesThatNoDatabaseHasIsNone) {
  // Magic, format, pages of 513 bytes, sequence, salts, and the checksum of these.
  std::string log("\x37\x7f\x06\x82\x00\x2d\xe2\x18\x00\x00\x02\x01", 12);
  log.resize(24);
  log += std::string("\xd6\xcb\x03\x13\x8f\xa4\xda\xb8", 8);
  log.resize(32 + 24 + 513);
  EXPECT_THAT(CheckWal(log), IsOk());
}

}  // namespace
}  // namespace evenpack
