#include "server/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite_database.h"
#include "tests/server/store/state_store_parity.h"
#include "tests/testing/fault_disk.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A store that takes its directory with it.
class ScratchStore final : public StateStore {
 public:
  absl::Status Commit(std::span<const StoreWrite> writes) override {
    return store_->Commit(writes);
  }
  bool CommitWaits() const override { return store_->CommitWaits(); }
  absl::StatusOr<std::vector<std::string>> Jobs() override { return store_->Jobs(); }
  absl::StatusOr<StoredJob> Load(const std::string& job) override {
    return store_->Load(job);
  }
  absl::StatusOr<StoredProfiles> Profiles() override { return store_->Profiles(); }
  uint64_t SizeBytes() const override { return store_->SizeBytes(); }

 private:
  ScratchDirectory directory_;
  std::unique_ptr<SqliteStore> store_ =
      SqliteStore::Open(directory_.File("store")).value();
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StateStoreParityTest, ::testing::Values([] {
                           return std::make_unique<ScratchStore>();
                         }));

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStore> Open() { return SqliteStore::Open(path_).value(); }
  absl::Status OpenStatus() { return SqliteStore::Open(path_).status(); }
  void RunInFile(const std::string& statements) {
    auto database = SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate);
    ASSERT_THAT(database->Run(statements), IsOk());
  }
  // Records of job "a".
  static void CommitOneByOne(SqliteStore& store, uint64_t count) {
    for (const StoreWrite& write : Records("a", count)) {
      ASSERT_THAT(store.Commit(std::span(&write, 1)), IsOk());
    }
  }
  // Records 0 to count - 1 of a job, each its number and 40 bytes.
  static std::vector<StoreWrite> Records(const std::string& job, uint64_t count) {
    std::vector<StoreWrite> writes;
    for (uint64_t i = 0; i < count; ++i) {
      writes.emplace_back(AppendRecord{job, i, absl::StrCat(i, std::string(40, 'a'))});
    }
    return writes;
  }

  ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
};

TEST_F(SqliteStoreTest, WhatWasCommittedIsThereWhenItIsOpenedAgain) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
    ASSERT_THAT(store->Commit(Records("b", 2)), IsOk());
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{WriteSnapshot{"b", 2, "state"},
                                                      AppendRecord{"b", 2, "more"}}),
                IsOk());
  }
  const auto store = Open();
  EXPECT_THAT(store->Jobs().value(), ElementsAre("a", "b"));
  EXPECT_EQ(store->Load("a")->records.size(), 3U);
  EXPECT_EQ(store->Load("b")->snapshot, "state");
  EXPECT_EQ(store->Load("b")->snapshot_records, 2U);
  EXPECT_THAT(store->Load("b")->records, ElementsAre("more"));
  EXPECT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"b", 3, ""}}), IsOk());
}

TEST_F(SqliteStoreTest, OneProcessAloneHasTheFile) {
  const auto store = Open();
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("in use by another process")));
}

TEST_F(SqliteStoreTest, FilesThatAreNotItsOwnAreRefusedAndLeftAlone) {
  RunInFile("CREATE TABLE mine (x)");
  const std::string before = FileBytes(path_);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("another program")));
  EXPECT_EQ(FileBytes(path_), before);
  const std::string text(10'000, 'x');
  WriteFile(path_, text);
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a database")));
  EXPECT_EQ(FileBytes(path_), text);
}

TEST_F(SqliteStoreTest, ANewerFormatIsRefused) {
  Open();
  RunInFile("PRAGMA user_version = 4");
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "store: format version 4 is newer than this program; accepted: "
                       "up to 3"));
}

TEST_F(SqliteStoreTest, ADirectoryThatIsNotThereIsNamed) {
  EXPECT_THAT(SqliteStore::Open(directory_.File("none/store")).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none'")));
}

TEST_F(SqliteStoreTest, ARowThatChangedStopsItsJobAlone) {
  struct Case {
    const char* change;
    const char* named;
  };
  for (const Case& each : {
           Case{"UPDATE records SET bytes = x'00' WHERE place = (1 << 40) + 1",
                "record 1 is damaged"},
           Case{"UPDATE records SET checksum = x'00' WHERE place = 1 << 40",
                "record 0 is damaged"},
           Case{"DELETE FROM records WHERE place = (1 << 40) + 1",
                "record 1 is damaged"},
           Case{"UPDATE records SET place = place + 7 WHERE place = (1 << 40) + 2",
                "record 2 is damaged"},
           Case{"DELETE FROM records WHERE place < 2 << 40",
                "the records of job 'a' from 0 on are missing"},
           Case{"UPDATE snapshots SET bytes = x'00' WHERE job = 1",
                "a snapshot is damaged"},
           Case{"UPDATE snapshots SET records = 1 WHERE job = 1",
                "a snapshot is damaged"},
           Case{"UPDATE tokens SET bytes = x'00'",
                "the tokens of stream 2 from document 5 on are damaged"},
           Case{"UPDATE tokens SET first = 6", "from document 6 on are damaged"},
           Case{"UPDATE tokens SET stream = 1", "the tokens of stream 1 from"},
           Case{"UPDATE jobs SET name = 'c' WHERE id = 1", "the row of job 'c'"},
       }) {
    const std::string change = each.change;
    std::filesystem::remove(path_);
    {
      const auto store = Open();
      ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
      ASSERT_THAT(store->Commit(Records("b", 3)), IsOk());
      ASSERT_THAT(
          store->Commit(std::vector<StoreWrite>{PutTokens{"a", 2, 5, "tokens"}}),
          IsOk());
      if (change.find("snapshots") != std::string::npos) {
        ASSERT_THAT(
            store->Commit(std::vector<StoreWrite>{WriteSnapshot{"a", 3, "state"}}),
            IsOk());
      }
    }
    RunInFile(change);
    const auto store = Open();
    const std::string name = change.find("name") == std::string::npos ? "a" : "c";
    EXPECT_THAT(store->Load(name),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(each.named)))
        << change;
    EXPECT_EQ(store->Load("b")->records.size(), 3U) << change;
    EXPECT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"b", 3, ""}}),
                IsOk());
    EXPECT_THAT(store->Commit(std::vector<StoreWrite>{RemoveJob{name}}), IsOk());
    EXPECT_THAT(store->Jobs().value(), ElementsAre("b"));
  }
}

// No flipped bit of the file makes a store tell other records than were written.
TEST_F(SqliteStoreTest, AFlippedBitIsFoundOrDoesNoHarm) {
  std::vector<std::string> names;
  {
    const auto store = Open();
    for (const char* name : {"a", "b", "c"}) {
      names.emplace_back(name);
      ASSERT_THAT(store->Commit(Records(name, 60)), IsOk());
      ASSERT_THAT(store->Commit(std::vector<StoreWrite>{
                      WriteSnapshot{name, 60, "state"}, AppendRecord{name, 60, "tail"},
                      AppendRecord{name, 61, std::string(9000, 'x')}}),
                  IsOk());
    }
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{
                    WriteProfile{"p", std::string(20'000, 'p')}}),
                IsOk());
  }
  const std::string whole = FileBytes(path_);
  ASSERT_FALSE(std::filesystem::exists(path_ + "-wal")) << "closed in good order";
  std::mt19937_64 random(7);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    const size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    WriteFile(path_, damaged);
    auto store = SqliteStore::Open(path_);
    if (!store.ok()) {
      EXPECT_THAT(store.status().code(),
                  AnyOf(absl::StatusCode::kDataLoss, absl::StatusCode::kUnavailable,
                        absl::StatusCode::kFailedPrecondition))
          << at;
      ++found;
      continue;
    }
    for (const std::string& name : names) {
      const auto job = (*store)->Load(name);
      if (job.ok()) {
        EXPECT_EQ(job->snapshot, "state") << at;
        EXPECT_THAT(job->records, ElementsAre("tail", std::string(9000, 'x'))) << at;
      } else {
        ++found;
      }
    }
    const auto profiles = (*store)->Profiles();
    if (!profiles.ok()) {
      ++found;
      continue;
    }
    for (const auto& [name, bytes] : *profiles) {
      if (!bytes.ok()) continue;
      EXPECT_EQ(name, "p") << at;
      EXPECT_EQ(*bytes, std::string(20'000, 'p')) << at;
    }
  }
  EXPECT_GT(found, 20);
}

// The log cut at every byte of its last commits: what remains is a state that was.
TEST_F(SqliteStoreTest, ATornTailIsCut) {
  std::string database;
  std::string log;
  size_t before_last = 0;
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(Records("a", 1)), IsOk());
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"a", 1, "1"}}),
                IsOk());
    before_last = std::filesystem::file_size(path_ + "-wal");
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"a", 2, "2"}}),
                IsOk());
    database = FileBytes(path_);
    log = FileBytes(path_ + "-wal");
  }
  ASSERT_GT(log.size(), before_last);
  for (size_t size = before_last; size <= log.size(); size += 61) {
    WriteFile(path_, database);
    WriteFile(path_ + "-wal", log.substr(0, size));
    EXPECT_EQ(Open()->Load("a")->records.size(), size < log.size() ? 2U : 3U) << size;
  }
}

TEST_F(SqliteStoreTest, DamageInTheLogBeforeLaterCommitsIsNotTakenForATornTail) {
  std::string database;
  std::string log;
  {
    const auto store = Open();
    CommitOneByOne(*store, 6);
    database = FileBytes(path_);
    log = FileBytes(path_ + "-wal");
  }
  WriteFile(path_, database);
  log[log.size() / 2] = static_cast<char>(log[log.size() / 2] ^ 1);
  WriteFile(path_ + "-wal", log);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                     HasSubstr("of the write-ahead log is damaged")));
}

TEST_F(SqliteStoreTest, ALogThatAServerIsAtIsNotSaidToBeDamaged) {
  const auto store = Open();
  CommitOneByOne(*store, 6);
  // As one may find it that is read while it is written.
  std::fstream log(path_ + "-wal", std::ios::in | std::ios::out);
  log.seekp(4096);
  log << "torn" << std::flush;
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("in use by another process")));
}

TEST_F(SqliteStoreTest, AFullDiskRefusesAndGoesOnWhenThereIsRoom) {
  FaultDisk disk;
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 1)), IsOk());
  const std::vector<StoreWrite> large = {
      AppendRecord{"a", 1, std::string(1 << 20, 'x')}};
  for (const uint64_t room : {0U, 5000U, 100'000U}) {
    disk.SetRoom(room);
    EXPECT_THAT(store->Commit(large),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("full")));
    EXPECT_EQ(store->Load("a")->records.size(), 1U);
  }
  disk.SetRoom(std::nullopt);
  EXPECT_THAT(store->Commit(large), IsOk());
  EXPECT_EQ(store->Load("a")->records.size(), 2U);
}

TEST_F(SqliteStoreTest, AFileThatCanNotBeWrittenIsRefused) {
  FaultDisk disk;
  ASSERT_THAT(Open()->Commit(Records("a", 1)), IsOk());
  disk.SetReadOnly(true);
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("accepted: a file that may be written")));
  disk.SetReadOnly(false);
  EXPECT_EQ(Open()->Load("a")->records.size(), 1U);
}

TEST_F(SqliteStoreTest, ADiskThatTurnsReadOnlyLosesNothing) {
  FaultDisk disk;
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 1)), IsOk());
  disk.SetReadOnly(true);
  EXPECT_THAT(store->Commit(Records("b", 1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk I/O error")));
  EXPECT_EQ(store->Load("a")->records.size(), 1U);
  EXPECT_FALSE(store->Load("b").ok());
  disk.SetReadOnly(false);
  EXPECT_THAT(store->Commit(Records("b", 1)), IsOk());
  EXPECT_EQ(store->Load("b")->records.size(), 1U);
}

struct Progress {
  uint64_t committed = 0;
  uint64_t snapshot = 0;
};

// Commits until the machine of a store crashes; the files that are left.
std::map<std::string, std::string> CommitAndCrash(const std::string& path,
                                                  std::mt19937_64& random,
                                                  Progress& progress) {
  FaultDisk disk;
  const auto store = SqliteStore::Open(path).value();
  // Often few and small ones, so that they end among the frames that the crash before
  // left.
  const uint64_t most = random() % 2 == 0 ? 60 : 3;
  const uint64_t largest = random() % 2 == 0 ? 9000 : 100;
  for (uint64_t commits = 1 + random() % most; commits > 0; --commits) {
    std::vector<StoreWrite> writes = {
        AppendRecord{"a", progress.committed, std::string(random() % largest, 'x')}};
    ++progress.committed;
    if (random() % 8 == 0) {
      writes.emplace_back(WriteSnapshot{"a", progress.committed, "state"});
      progress.snapshot = progress.committed;
    }
    EXPECT_THAT(store->Commit(writes), IsOk());
  }
  // One under way, that fails at some point of it or in its flush.
  if (random() % 2 == 0) {
    disk.SetRoom(random() % 40'000);
  } else {
    disk.FailFlushes();
  }
  const std::vector<StoreWrite> last = {AppendRecord{
      "a", progress.committed, std::string(random() % 2 == 0 ? 30'000 : 100, 'y')}};
  if (store->Commit(last).ok()) ++progress.committed;
  return disk.AfterCrash(random);
}

void WriteFiles(const std::map<std::string, std::string>& files,
                const ScratchDirectory& directory) {
  for (const auto& [file, bytes] : files) {
    WriteFile(directory.File(std::filesystem::path(file).filename()), bytes);
  }
}

// A process that is killed leaves commits that it had not flushed. Whoever opens the
// file next tells of them, so they must outlast a crash of the machine right then.
TEST_F(SqliteStoreTest, WhatIsFoundWhenAFileIsOpenedOutlastsACrash) {
  std::map<std::string, std::string> killed;
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
    for (const char* end : {"", "-wal"}) killed[path_ + end] = FileBytes(path_ + end);
  }
  std::mt19937_64 random(13);
  for (int crash = 0; crash < 20; ++crash) {
    const ScratchDirectory directory;
    const std::string path = directory.File("store");
    std::map<std::string, std::string> left;
    WriteFiles(killed, directory);
    {
      FaultDisk disk;
      disk.TakeAsUnflushed(path + "-wal");
      const auto store = SqliteStore::Open(path).value();
      ASSERT_EQ(store->Load("a")->records.size(), 3U);
      left = disk.AfterCrash(random);
    }
    WriteFiles(left, directory);
    const auto store = SqliteStore::Open(path).value();
    ASSERT_THAT(store->Load("a"), IsOk()) << crash;
    EXPECT_EQ(store->Load("a")->records.size(), 3U) << crash;
  }
}

// Whatever of the writes that were not flushed a crash leaves: all commits that were
// told of are there, and at most the one under way besides. Crash upon crash, since
// what one leaves behind the end of the log lies among the frames of the next.
TEST_F(SqliteStoreTest, ACrashLosesNothingThatWasCommitted) {
  std::mt19937_64 random(11);
  for (int history = 0; history < 8; ++history) {
    ScratchDirectory directory;
    Progress progress;
    for (int crash = 0; crash < 12; ++crash) {
      const auto left = CommitAndCrash(directory.File("store"), random, progress);
      ScratchDirectory copy;
      WriteFiles(left, copy);
      const FaultDisk disk;
      const auto store = SqliteStore::Open(copy.File("store"));
      ASSERT_THAT(store.status(), IsOk()) << history << ", " << crash;
      const auto job = (*store)->Load("a");
      ASSERT_THAT(job, IsOk()) << history << ", " << crash;
      EXPECT_EQ(job->snapshot_records, progress.snapshot);
      const uint64_t records = job->snapshot_records + job->records.size();
      EXPECT_THAT(records, AnyOf(progress.committed, progress.committed + 1));
      progress.committed = records;
      WriteFiles(left, directory);
    }
  }
}

TEST_F(SqliteStoreTest, TheFileStaysFlatWhileSnapshotsReplaceRecords) {
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 1)), IsOk());
  uint64_t number = 1;
  std::vector<uintmax_t> sizes;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_THAT(store->Commit(std::vector<StoreWrite>{
                      AppendRecord{"a", number++, std::string(1000, 'x')}}),
                  IsOk());
    }
    ASSERT_THAT(store->Commit(std::vector<StoreWrite>{
                    WriteSnapshot{"a", number, std::string(5000, 's')}}),
                IsOk());
    sizes.push_back(std::filesystem::file_size(path_) +
                    std::filesystem::file_size(path_ + "-wal"));
  }
  EXPECT_LT(sizes.back(), sizes[2] + (1 << 20));
}

// Else a disk that is full could not be given room by a removal, and the commits of
// other jobs would wait for zeros.
TEST_F(SqliteStoreTest, RemovingAJobOfMuchWritesLittle) {
  constexpr size_t kMuch = 8 << 20;
  ASSERT_THAT(
      Open()->Commit(std::vector<StoreWrite>{
          AppendRecord{"a", 0, "r"}, WriteSnapshot{"a", 1, std::string(kMuch, 's')},
          AppendRecord{"a", 1, std::string(kMuch, 'r')},
          PutTokens{"a", 0, 0, std::string(kMuch, 't')}}),
      IsOk());
  // Its log is empty, since the last one that had it open is gone.
  const auto store = Open();
  ASSERT_THAT(store->Commit(std::vector<StoreWrite>{RemoveJob{"a"}}), IsOk());
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), kMuch / 16);
}

TEST_F(SqliteStoreTest, ReadOnlyReadsAndLeavesTheFileAsItIs) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
  }
  const std::string before = FileBytes(path_);
  {
    const auto store = SqliteStore::Open(path_, SqliteStore::Access::kReadOnly).value();
    EXPECT_EQ(store->Load("a")->records.size(), 3U);
    EXPECT_FALSE(store->Commit(Records("b", 1)).ok());
  }
  EXPECT_EQ(FileBytes(path_), before);
  EXPECT_FALSE(
      SqliteStore::Open(directory_.File("other"), SqliteStore::Access::kReadOnly).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_.File("other")));
}

}  // namespace
}  // namespace evenpack::testing
