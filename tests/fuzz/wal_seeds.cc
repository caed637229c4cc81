#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/seeds.h"
#include "tests/testing/file_bytes.h"

namespace evenpack::fuzz {
namespace {

void Run(sqlite3* database, const std::string& statement) {
  Require(
      sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK,
      statement, sqlite3_errmsg(database));
}

// What SQLite has written to its log after so many commits.
std::string LogAfter(int commits) {
  std::string folder = std::filesystem::temp_directory_path() / "seeds_XXXXXX";
  Require(mkdtemp(folder.data()) != nullptr, "a folder can be made", folder);
  const std::string path = folder + "/store";
  sqlite3* database = nullptr;
  Require(sqlite3_open(path.c_str(), &database) == SQLITE_OK, "a database is made");
  Run(database, "PRAGMA page_size=512");
  Run(database, "PRAGMA journal_mode=WAL");
  for (int i = 0; i < commits; ++i) {
    Run(database, absl::StrCat("CREATE TABLE t", i, " (x)"));
  }
  const std::string log = testing::FileBytes(path + "-wal");
  sqlite3_close(database);
  std::filesystem::remove_all(folder);
  return log;
}

}  // namespace

void AddWalSeeds(std::vector<Seed>& seeds) {
  for (const int commits : {1, 3}) {
    seeds.push_back({"wal", absl::StrCat("commits", commits), LogAfter(commits)});
  }
  // Bytes that the target makes a log of: order, salt, frames, and each frame's commit
  // and page; then where it is cut and where it is damaged.
  seeds.push_back(
      {"wal", "made", std::string("\1\7\4\1\5\0\6\1\7\1\x8\0\x9\1\2\x20", 16)});
}

}  // namespace evenpack::fuzz
