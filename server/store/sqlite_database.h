// SQLite's C interface with owners and statuses.
#ifndef EVENPACK_SERVER_STORE_SQLITE_DATABASE_H_
#define EVENPACK_SERVER_STORE_SQLITE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace evenpack {

// A prepared statement. Its parameters count from 1, its columns from 0. Must end
// before its database does.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  SqliteStatement& Bind(int parameter, int64_t value);
  // `bytes` must stay as they are until the statement is run.
  SqliteStatement& Bind(int parameter, std::string_view bytes);
  SqliteStatement& BindText(int parameter, std::string_view text);

  // True where there is a row. Starts anew after the last one and after an error.
  absl::StatusOr<bool> Next();
  // Of a statement without rows.
  absl::Status Run();
  // Forgets the rows that were not read.
  void Reset();

  // Of the row; valid until the statement moves on.
  int64_t Integer(int column) const;
  std::string_view Bytes(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// FAILED_PRECONDITION: another process has the file.
absl::Status FileInUse();

// Not thread-safe. Errors: RESOURCE_EXHAUSTED the disk is full; DATA_LOSS what is read
// is damaged; FAILED_PRECONDITION another process has the file, or it may not be
// written; UNAVAILABLE anything else.
class SqliteDatabase {
 public:
  enum class Mode {
    kCreate,
    // Reads the write-ahead log too, for which SQLite may make files beside it.
    kReadOnly,
    // Of a file without a log, which nobody changes meanwhile: makes nothing.
    kUnchanging,
  };

  static absl::StatusOr<SqliteDatabase> Open(const std::string& path, Mode mode);

  // Statements without parameters; rows are passed over.
  absl::Status Run(const std::string& statements);
  // What was written of the write-ahead log is on the disk then, by whomever; nothing
  // to do where there is no log. After the file was read.
  absl::Status FlushLog();
  absl::StatusOr<SqliteStatement> Prepare(std::string_view statement);
  // The one number that a statement gives.
  absl::StatusOr<int64_t> Number(std::string_view statement);
  // Whether the path that was opened has another file now, or none.
  bool HasMoved() const;
  // Whether what failed last was a flush: after a COMMIT all of it is in the log then,
  // and this connection does not see it, though whoever opens the file anew may.
  bool LastFlushFailed() const;
  // Puts a commit of nothing in the place of such a one.
  absl::Status OverwriteLastCommit();
  // What is wrong with the file's structure, by SQLite's own check, a line each.
  absl::StatusOr<std::vector<std::string>> Faults();
  // The one text that a statement gives.
  absl::StatusOr<std::string> Text(std::string_view statement);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_SQLITE_DATABASE_H_
