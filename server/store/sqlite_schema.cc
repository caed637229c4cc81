#include "server/store/sqlite_schema.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// "EvPk", by which file(1) and we know the files of this program.
constexpr int64_t kApplicationId = 0x4576506b;

// Each takes a file from the version of its index to the next.
constexpr std::array<std::string_view, 3> kMigrations = {R"(
    CREATE TABLE jobs (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      checksum BLOB NOT NULL
    ) STRICT;
    CREATE TABLE snapshots (
      job INTEGER PRIMARY KEY,
      records INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      checksum BLOB NOT NULL
    ) STRICT;
    CREATE TABLE records (
      place INTEGER PRIMARY KEY,
      bytes BLOB NOT NULL,
      checksum BLOB NOT NULL
    ) STRICT;
)",
                                                         R"(
    CREATE TABLE profiles (
      name TEXT PRIMARY KEY NOT NULL,
      bytes BLOB NOT NULL,
      checksum BLOB NOT NULL
    ) STRICT;
)",
                                                         R"(
    CREATE TABLE tokens (
      job INTEGER NOT NULL,
      stream INTEGER NOT NULL,
      first INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      checksum BLOB NOT NULL,
      PRIMARY KEY (job, stream, first)
    ) STRICT;
)"};
static_assert(kMigrations.size() == kStoreFormatVersion);

// The file's format, or 0 for a file without tables.
absl::StatusOr<int64_t> FormatVersion(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> application = database.Number("PRAGMA application_id");
  if (!application.ok()) return application.status();
  absl::StatusOr<int64_t> version = database.Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const absl::StatusOr<int64_t> tables =
      database.Number("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*application == 0 && *version == 0 && *tables == 0) return 0;
  if (*application != kApplicationId) {
    return absl::FailedPreconditionError(
        "store: the file is a database of another program; accepted: a file that "
        "evenpack-server made, or none");
  }
  if (*version > kStoreFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "store: format version ", *version,
        " is newer than this program; accepted: up to ", kStoreFormatVersion));
  }
  return version;
}

absl::Status Migrate(SqliteDatabase& database, int64_t from) {
  if (from == kStoreFormatVersion) return absl::OkStatus();
  std::string statements = "BEGIN IMMEDIATE;";
  for (auto version = static_cast<size_t>(from); version < kMigrations.size();
       ++version) {
    statements += kMigrations[version];
  }
  absl::StrAppend(&statements, "PRAGMA application_id = ", kApplicationId,
                  "; PRAGMA user_version = ", kStoreFormatVersion, "; COMMIT;");
  absl::Status status = database.Run(statements);
  if (!status.ok()) database.Run("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace

absl::Status PrepareToWrite(SqliteDatabase& database) {
  // Exclusive before the log's first use: its index is then in this process's memory
  // and not in a mapped file. Debian's library would overwrite with zeros all that is
  // deleted: docs/adr/0149.
  absl::Status status = database.Run(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA mmap_size = 0;"
      "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
      "PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL;"
      "PRAGMA secure_delete = OFF;");
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> version = FormatVersion(database);
  if (!version.ok()) return version.status();
  const absl::StatusOr<std::string> mode = database.Text("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") {
    return absl::FailedPreconditionError(
        absl::StrCat("store: the journal mode is ", *mode,
                     "; accepted: a file that may be written "
                     "and whose disk takes a write-ahead log"));
  }
  status = Migrate(database, *version);
  // Takes the lock of the file even where nothing is to be migrated.
  if (status.ok()) status = database.Run("BEGIN EXCLUSIVE; COMMIT;");
  // A process that was killed may have written a commit and not flushed it. It stands,
  // and is told of from now on.
  if (status.ok()) status = database.FlushLog();
  return status;
}

absl::Status PrepareToRead(SqliteDatabase& database) {
  absl::Status status = database.Run(
      "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;"
      "PRAGMA trusted_schema = OFF;");
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> version = FormatVersion(database);
  if (!version.ok()) return version.status();
  if (*version > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "store: the file holds nothing; accepted: a file that evenpack-server made");
}

}  // namespace evenpack
