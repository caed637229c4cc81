#include "server/store/wal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite_database.h"
#include "server/store/sqlite_schema.h"
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
      ASSERT_THAT(database.Run(absl::StrCat("REPLACE INTO snapshots VALUES (1, ", i,
                                            ", x'00', x'00')")),
                  IsOk());
    }
    std::ifstream file(path_ + "-wal", std::ios::binary);
    log_ = {std::istreambuf_iterator<char>(file), {}};
    ASSERT_EQ(log_.size(), kHeaderBytes + 8 * kFrameBytes);
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
    for (const size_t at : {0U, 4U, 16U, 24U, 1000U, 4119U}) {
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

TEST_F(WalCheckTest, WhatAnEarlierLogLeftBehindTheEndDoesNotCount) {
  std::string log = log_;
  // Another salt from frame 5 on.
  for (size_t frame = 5; frame < 8; ++frame) {
    log[kHeaderBytes + frame * kFrameBytes + 8] ^= 1;
  }
  EXPECT_THAT(CheckWal(log), IsOk());
}

}  // namespace
}  // namespace evenpack
