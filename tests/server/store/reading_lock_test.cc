#include "server/store/reading_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/store/sqlite_store.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::FileBytes;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

class ReadingLockTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SqliteStore>> Open(SqliteStore::Access access) const {
    return SqliteStore::Open(path_, access);
  }
  void TearDown() override { chmod(directory_.path().c_str(), 0700); }

  // A store with three records of a job, whose server has stopped.
  void Write() const {
    const auto store = Open(SqliteStore::Access::kReadWrite).value();
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"a", i, "r"}}),
                  IsOk());
    }
  }
  // The same, whose server was killed: the log has it all.
  void WriteAndKill() const {
    std::map<std::string, std::string> killed;
    {
      const auto store = Open(SqliteStore::Access::kReadWrite).value();
      ASSERT_THAT(store->Commit(std::vector<StoreWrite>{AppendRecord{"a", 0, "r"}}),
                  IsOk());
      for (const char* end : {"", "-wal"}) killed[path_ + end] = FileBytes(path_ + end);
    }
    for (const auto& [path, bytes] : killed) std::ofstream(path) << bytes;
  }
  size_t RecordsRead() const {
    const auto store = Open(SqliteStore::Access::kReadOnly);
    if (!store.ok()) std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return store.ok() ? (*store)->Load("a")->records.size() : 0;
  }
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      files[entry.path()] = FileBytes(entry.path());
    }
    return files;
  }
  // In a process of somebody who may read the directory and not write it.
  [[noreturn]] void ReadAsAnother(size_t wanted) const {
    chmod(directory_.path().c_str(), 0555);
    if (geteuid() == 0 && setuid(65534) != 0) std::_Exit(2);
    std::_Exit(RecordsRead() == wanted ? 0 : 1);
  }
  // In a process that may make no file as large as an index, as on a disk that is full.
  [[noreturn]] void ReadWithoutRoom(size_t wanted) const {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit little = {16384, 16384};
    if (setrlimit(RLIMIT_FSIZE, &little) != 0) std::_Exit(2);
    std::_Exit(RecordsRead() == wanted ? 0 : 1);
  }

  const ScratchDirectory directory_;
  // As a URI would take for something else.
  const std::string path_ = directory_.File("a 100%25?b#c");
};

TEST_F(ReadingLockTest, WhatIsReadStaysAsItIsAndNothingIsLeftBesideIt) {
  Write();
  const auto before = Files();
  EXPECT_EQ(before.size(), 1U);
  EXPECT_EQ(RecordsRead(), 3U);
  EXPECT_EQ(Files(), before);
}

TEST_F(ReadingLockTest, ALogIsReadAndStaysAndSoDoesAnIndexThatWasThere) {
  WriteAndKill();
  const auto before = Files();
  EXPECT_EQ(before.size(), 2U);
  EXPECT_EQ(RecordsRead(), 1U);
  EXPECT_EQ(Files(), before);
  std::ofstream(path_ + "-shm") << std::string(32768, '\0');
  EXPECT_EQ(RecordsRead(), 1U);
  EXPECT_EQ(Files().size(), 3U);
}

TEST_F(ReadingLockTest, ALogIsReadThatIsBesideTheFileWhichALinkLeadsTo) {
  WriteAndKill();
  const ScratchDirectory elsewhere;
  const std::string link = elsewhere.File("link");
  std::filesystem::create_symlink(path_, link);
  const auto store = SqliteStore::Open(link, SqliteStore::Access::kReadOnly);
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->Load("a")->records.size(), 1U);
}

TEST_F(ReadingLockTest, AServerThatHasTheFileIsNotReadFrom) {
  const auto server = Open(SqliteStore::Access::kReadWrite).value();
  EXPECT_THAT(Open(SqliteStore::Access::kReadOnly).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("in use by another process")));
}

TEST_F(ReadingLockTest, NoServerTakesTheFileWhileItIsReadAndOthersMayReadIt) {
  Write();
  {
    const auto reader = Open(SqliteStore::Access::kReadOnly).value();
    EXPECT_EQ(RecordsRead(), 3U);
    EXPECT_THAT(Open(SqliteStore::Access::kReadWrite).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("in use by another process")));
  }
  EXPECT_THAT(Open(SqliteStore::Access::kReadWrite), IsOk());
}

TEST_F(ReadingLockTest, ACopyThatOnlyMayBeReadIsReadWhereItHasNoLog) {
  Write();
  EXPECT_EXIT(ReadAsAnother(3), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(Files().size(), 1U);
}

TEST_F(ReadingLockTest, ACopyWithALogWantsADirectoryThatMayBeWritten) {
  WriteAndKill();
  EXPECT_EXIT(ReadAsAnother(0), ::testing::ExitedWithCode(0),
              "has a write-ahead log, and .* can't be written: Permission denied; "
              "accepted: a copy of both in a directory that may be written");
}

TEST_F(ReadingLockTest, ACopyWithALogWantsRoomForItsIndex) {
  WriteAndKill();
  EXPECT_EXIT(
      ReadWithoutRoom(0), ::testing::ExitedWithCode(0),
      "store: the index of the write-ahead log can't be made: File too large; "
      "accepted: room for it beside the file, or a copy of both where there is");
}

TEST_F(ReadingLockTest, AFileThatIsNotThereIsSaidToBe) {
  EXPECT_THAT(Open(SqliteStore::Access::kReadOnly).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("can't be opened: No such file or directory")));
}

}  // namespace
}  // namespace evenpack
