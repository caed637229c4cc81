#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/store/sqlite_store.h"
#include "tests/testing/fault_disk.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using Writes = std::vector<StoreWrite>;

// A job, and a disk on which its removal is written and not flushed.
class SqliteStoreDoubtTest : public ::testing::Test {
 protected:
  SqliteStoreDoubtTest() : store_(SqliteStore::Open(path_).value()) {
    EXPECT_THAT(store_->Commit(Writes{AppendRecord{"a", 0, "first"}}), IsOk());
  }

  absl::Status Remove() { return store_->Commit(Writes{RemoveJob{"a"}}); }
  // What whoever opens the file reads of the job, were the process killed now.
  absl::Status LeftOfTheJob() const {
    const ScratchDirectory copy;
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(path_ + end, copy.File("store") + end);
    }
    return SqliteStore::Open(copy.File("store")).value()->Load("a").status();
  }

  const ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
  FaultDisk disk_;
  const std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreDoubtTest, WhatIsToldAsNotStoredDoesNotStandAfterAKill) {
  disk_.FailFlushes(1);
  EXPECT_THAT(Remove(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk I/O error")));
  EXPECT_THAT(LeftOfTheJob(), IsOk());
  EXPECT_THAT(store_->Load("a"), IsOk());
}

TEST_F(SqliteStoreDoubtTest, WhileTheDiskFlushesNothingItIsNotKnownWhatStands) {
  disk_.FailFlushes();
  EXPECT_THAT(Remove(), StatusIs(absl::StatusCode::kUnknown, HasSubstr("disk I/O")));
  EXPECT_THAT(store_->Load("a"), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_THAT(store_->Profiles(), StatusIs(absl::StatusCode::kUnavailable, _));
  disk_.FailFlushes(0);
  EXPECT_THAT(store_->Load("a"), IsOk());
  EXPECT_THAT(LeftOfTheJob(), IsOk());
}

TEST_F(SqliteStoreDoubtTest, TheNextCommitTakesItsPlace) {
  disk_.FailFlushes();
  EXPECT_THAT(Remove(), StatusIs(absl::StatusCode::kUnknown, _));
  disk_.FailFlushes(0);
  EXPECT_THAT(store_->Commit(Writes{AppendRecord{"a", 1, "second"}}), IsOk());
  EXPECT_THAT(LeftOfTheJob(), IsOk());
  EXPECT_EQ(store_->Load("a")->records.size(), 2U);
}

}  // namespace
}  // namespace evenpack::testing
