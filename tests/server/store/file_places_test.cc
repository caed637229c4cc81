// As the store that commits to them has it.
#include "server/store/file_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/store/sqlite_store.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::HasSubstr;

class FilePlacesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(store_->Commit(std::vector<StoreWrite>{AppendRecord{"a", 0, "record"}}),
                IsOk());
  }
  absl::Status CommitMore() {
    return store_->Commit(std::vector<StoreWrite>{AppendRecord{"a", 1, "more"}});
  }
  size_t Records() { return store_->Load("a")->records.size(); }

  // Nothing is committed while this file is elsewhere.
  void CheckWhileAway(const std::string& file) {
    const std::string elsewhere = directory_.File("elsewhere");
    std::filesystem::rename(file, elsewhere);
    const auto refused = StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("'" + file + "' was removed or replaced"));
    EXPECT_THAT(CommitMore(), refused);
    std::ofstream(file) << "another";
    EXPECT_THAT(CommitMore(), refused);
    EXPECT_EQ(Records(), 1U);
    std::filesystem::rename(elsewhere, file);
    EXPECT_THAT(CommitMore(), IsOk());
    EXPECT_EQ(Records(), 2U);
  }

  ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
  std::unique_ptr<SqliteStore> store_ = SqliteStore::Open(path_).value();
};

TEST_F(FilePlacesTest, NothingIsCommittedToAFileThatIsNotAtItsPathAnyMore) {
  CheckWhileAway(path_);
}

TEST_F(FilePlacesTest, NothingIsCommittedToALogThatIsNotAtItsPathAnyMore) {
  CheckWhileAway(path_ + "-wal");
}

TEST_F(FilePlacesTest, TheLogOfAFileThatWasThereIsMissedToo) {
  store_.reset();
  store_ = SqliteStore::Open(path_).value();
  std::filesystem::remove(path_ + "-wal");
  EXPECT_THAT(CommitMore(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("store-wal' was removed")));
}

TEST_F(FilePlacesTest, WhatALogHadThatWasRemovedIsInTheFile) {
  std::filesystem::remove(path_ + "-wal");
  ASSERT_FALSE(CommitMore().ok());
  const std::string killed = directory_.File("killed");
  std::filesystem::copy_file(path_, killed);
  EXPECT_EQ(SqliteStore::Open(killed).value()->Load("a")->records.size(), 1U);
}

TEST_F(FilePlacesTest, ALogThatIsGoneIsMissedWhereALinkLeadsToTheFile) {
  store_.reset();
  const ScratchDirectory elsewhere;
  std::filesystem::create_symlink(path_, elsewhere.File("link"));
  store_ = SqliteStore::Open(elsewhere.File("link")).value();
  CheckWhileAway(path_ + "-wal");
}

TEST(FollowLinksTest, LeadsToTheFileAsSqliteDoes) {
  const ScratchDirectory directory;
  const std::string file = directory.File("store");
  EXPECT_EQ(FollowLinks(file), file) << "that isn't there yet";
  std::ofstream(file) << "file";
  EXPECT_EQ(FollowLinks(file), file);
  std::filesystem::create_symlink("store", directory.File("near"));
  std::filesystem::create_symlink(directory.File("near"), directory.File("far"));
  EXPECT_EQ(FollowLinks(directory.File("far")), file);
  std::filesystem::create_symlink("/nowhere/store", directory.File("dangling"));
  EXPECT_EQ(FollowLinks(directory.File("dangling")), "/nowhere/store");
  std::filesystem::create_symlink("circle", directory.File("circle"));
  EXPECT_EQ(FollowLinks(directory.File("circle")), directory.File("circle"));
}

}  // namespace
}  // namespace evenpack::testing
