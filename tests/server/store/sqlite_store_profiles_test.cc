// Cost profiles in a file; what stores have in common is in state_store_parity.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/store/sqlite_database.h"
#include "server/store/sqlite_store.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqliteStoreProfilesTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStore> Open() { return SqliteStore::Open(path_).value(); }
  void RunInFile(const std::string& statements) {
    auto database = SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate);
    ASSERT_THAT(database->Run(statements), IsOk());
  }

  ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
};

TEST_F(SqliteStoreProfilesTest, AFileOfTheFirstVersionKeepsItsJobsAndTakesProfiles) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"a", 0, "a0"}}),
                IsOk());
  }
  RunInFile("DROP TABLE profiles; DROP TABLE tokens; PRAGMA user_version = 1");
  {
    const auto read_only = SqliteStore::Open(path_, SqliteStore::Access::kReadOnly);
    ASSERT_THAT(read_only.status(), IsOk());
    EXPECT_THAT((*read_only)->Profiles().value(), IsEmpty());
    EXPECT_THAT((*read_only)->Load("a")->records, ElementsAre("a0"));
  }
  {
    const auto store = Open();
    EXPECT_THAT(store->Load("a")->records, ElementsAre("a0"));
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{WriteProfile{"p", "bytes"}}),
                IsOk());
  }
  const auto store = Open();
  EXPECT_EQ(store->Profiles()->at("p").value(), "bytes");
  EXPECT_THAT(store->Load("a")->records, ElementsAre("a0"));
}

TEST_F(SqliteStoreProfilesTest, AProfileThatChangedIsToldAndCanBeReplaced) {
  for (const std::string change :
       {"UPDATE profiles SET bytes = x'00' WHERE name = 'p'",
        "UPDATE profiles SET checksum = x'00' WHERE name = 'p'",
        "UPDATE profiles SET name = 'p2' WHERE name = 'p'"}) {
    std::filesystem::remove(path_);
    ASSERT_THAT(Open()->Commit(std::vector<StoreWrite>{WriteProfile{"p", "bytes"},
                                                       WriteProfile{"q", "whole"}}),
                IsOk());
    RunInFile(change);
    const auto store = Open();
    const std::string name = change.find("p2") == std::string::npos ? "p" : "p2";
    const StoredProfiles profiles = store->Profiles().value();
    EXPECT_THAT(profiles.at(name).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("profile '" + name + "' is damaged")))
        << change;
    EXPECT_EQ(profiles.at("q").value(), "whole");
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{WriteProfile{name, "new"}}),
                IsOk());
    EXPECT_EQ(store->Profiles()->at(name).value(), "new");
  }
}

}  // namespace
}  // namespace evenpack::testing
