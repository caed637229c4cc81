#include "server/store/sqlite_database.h"

#include <sqlite3.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/runtime/fault_point.h"

namespace evenpack {
namespace {

// Why the system last refused a read, write or flush of the file, where that is since
// this was last asked; else 0.
int TakeSystemError(sqlite3_file* file) {
  if (file == nullptr || file->pMethods == nullptr) return 0;
  const sqlite3_io_methods& methods = *file->pMethods;
  // As of a journal in memory.
  if (methods.xFileControl == nullptr) return 0;
  int error = 0;
  const int found = methods.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  if (found != SQLITE_OK || error == 0) return 0;
  // Behind the end nothing is there to be read, which no system refuses.
  sqlite3_int64 size = 0;
  char none = 0;
  if (methods.xFileSize(file, &size) == SQLITE_OK) {
    methods.xRead(file, &none, sizeof(none), size);
  }
  return error;
}

// Of the database's file or its log.
int TakeSystemError(sqlite3* database) {
  int error = 0;
  for (const int kind : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}) {
    sqlite3_file* file = nullptr;
    const int found =
        sqlite3_file_control(database, "main", kind, static_cast<void*>(&file));
    if (found != SQLITE_OK) continue;
    const int of_file = TakeSystemError(file);
    if (error == 0) error = of_file;
  }
  return error;
}

absl::Status StatusOf(sqlite3* database, int code) {
  const std::string message = absl::StrCat("store: ", sqlite3_errmsg(database));
  const int extended = sqlite3_extended_errcode(database);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_CORRUPT:
    case SQLITE_IOERR: {
      if (extended == SQLITE_IOERR_SHMSIZE) {
        return absl::UnavailableError(
            absl::StrCat("store: the index of the write-ahead log can't be made: ",
                         std::strerror(sqlite3_system_errno(database)),
                         "; accepted: room for it beside the file, or a copy of both "
                         "where there is"));
      }
      const int error = TakeSystemError(database);
      const bool damaged = (code & 0xff) == SQLITE_CORRUPT;
      if (damaged && error == 0) return absl::DataLossError(message);
      // SQLite takes it for damage, once a statement runs.
      if (damaged || extended == SQLITE_IOERR_CORRUPTFS) {
        return absl::UnavailableError(absl::StrCat(
            "store: the file or its log can't be read: ", std::strerror(error),
            "; accepted: a disk that gives them"));
      }
      break;
    }
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return FileInUse();
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::FailedPreconditionError(message);
    default:
      break;
  }
  return absl::UnavailableError(
      absl::StrCat(message, " (SQLite's code ", extended, ")"));
}

// https://www.sqlite.org/uri.html
std::string UnchangingUri(const std::string& path) {
  const std::string escaped =
      absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
  // An absolute path's first part would be a host.
  return absl::StrCat("file:", absl::StartsWith(path, "/") ? "//" : "", escaped,
                      "?immutable=1");
}

// SQLite's own choice (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT).
constexpr int kPagesBeforeCheckpoint = 1000;

// What SQLite does itself where no hook is set, and a place to fail on either side. A
// checkpoint that fails is tried again after the next commit, which stands all the
// same.
int CheckpointLongLog(void*, sqlite3* database, const char* name, int pages) {
  if (pages < kPagesBeforeCheckpoint) return SQLITE_OK;
  FaultPoint("checkpoint.before");
  const int code = sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, nullptr);
  // Or it would be taken for the cause of what goes wrong next.
  if (code != SQLITE_OK) TakeSystemError(database);
  FaultPoint("checkpoint.after");
  return SQLITE_OK;
}

}  // namespace

absl::Status FileInUse() {
  return absl::FailedPreconditionError("store: the file is in use by another process");
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::Bind(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int parameter, std::string_view bytes) {
  // A null pointer would be NULL, not no bytes.
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.empty() ? "" : bytes.data(),
                      bytes.size(), SQLITE_STATIC);
  return *this;
}

SqliteStatement& SqliteStatement::BindText(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.empty() ? "" : text.data(),
                      text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  absl::Status status = code == SQLITE_DONE
                            ? absl::OkStatus()
                            : StatusOf(sqlite3_db_handle(statement_.get()), code);
  Reset();
  if (!status.ok()) return status;
  return false;
}

absl::Status SqliteStatement::Run() {
  const absl::StatusOr<bool> row = Next();
  Reset();
  return row.status();
}

void SqliteStatement::Reset() { sqlite3_reset(statement_.get()); }

int64_t SqliteStatement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::Bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {static_cast<const char*>(bytes), size};
}

void SqliteDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

absl::StatusOr<SqliteDatabase> SqliteDatabase::Open(const std::string& path,
                                                    Mode mode) {
  int flags = SQLITE_OPEN_READONLY;
  if (mode == Mode::kCreate) flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (mode == Mode::kUnchanging) flags |= SQLITE_OPEN_URI;
  const std::string name = mode == Mode::kUnchanging ? UnchangingUri(path) : path;
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database;
  database.database_.reset(opened);
  if (code != SQLITE_OK) return StatusOf(opened, code);
  // SQLite opens for reading what it may not write.
  if (mode == Mode::kCreate && sqlite3_db_readonly(opened, "main") == 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "store: '", path, "' can't be written; accepted: a file that may be written"));
  }
  sqlite3_wal_hook(opened, CheckpointLongLog, nullptr);
  return database;
}

absl::Status SqliteDatabase::Run(const std::string& statements) {
  const int code =
      sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : StatusOf(database_.get(), code);
}

absl::Status SqliteDatabase::FlushLog() {
  sqlite3_file* log = nullptr;
  const int found = sqlite3_file_control(
      database_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
  if (found != SQLITE_OK) return StatusOf(database_.get(), found);
  if (log == nullptr || log->pMethods == nullptr) return absl::OkStatus();
  if (log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return absl::UnavailableError("store: the write-ahead log can't be flushed");
}

bool SqliteDatabase::HasMoved() const {
  int moved = 0;
  const int code =
      sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(std::string_view statement) {
  sqlite3_stmt* prepared = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), statement.data(),
                         static_cast<int>(statement.size()), &prepared, nullptr);
  if (code != SQLITE_OK) return StatusOf(database_.get(), code);
  SqliteStatement result;
  result.statement_.reset(prepared);
  return result;
}

absl::StatusOr<int64_t> SqliteDatabase::Number(std::string_view statement) {
  absl::StatusOr<SqliteStatement> prepared = Prepare(statement);
  if (!prepared.ok()) return prepared.status();
  const absl::StatusOr<bool> row = prepared->Next();
  if (!row.ok()) return row.status();
  return *row ? prepared->Integer(0) : 0;
}

absl::StatusOr<std::string> SqliteDatabase::Text(std::string_view statement) {
  absl::StatusOr<SqliteStatement> prepared = Prepare(statement);
  if (!prepared.ok()) return prepared.status();
  const absl::StatusOr<bool> row = prepared->Next();
  if (!row.ok()) return row.status();
  return *row ? std::string(prepared->Bytes(0)) : "";
}

bool SqliteDatabase::LastFlushFailed() const {
  return sqlite3_extended_errcode(database_.get()) == SQLITE_IOERR_FSYNC;
}

absl::Status SqliteDatabase::OverwriteLastCommit() {
  // Writes the page, though with what it has.
  const absl::StatusOr<int64_t> version = Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  return Run(absl::StrCat("PRAGMA user_version = ", *version));
}

absl::StatusOr<std::vector<std::string>> SqliteDatabase::Faults() {
  std::vector<std::string> faults;
  absl::StatusOr<SqliteStatement> check = Prepare("PRAGMA integrity_check");
  if (!check.ok()) return check.status();
  while (true) {
    const absl::StatusOr<bool> row = check->Next();
    if (!row.ok()) return row.status();
    if (!*row) return faults;
    const std::string found(check->Bytes(0));
    if (found == "ok") continue;
    for (const absl::string_view line : absl::StrSplit(found, '\n')) {
      // A heading.
      if (!absl::StartsWith(line, "***")) faults.emplace_back(line);
    }
  }
}

}  // namespace evenpack
