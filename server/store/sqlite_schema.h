// The tables of a store file, and their versions.
//
//   jobs       id, name
//   snapshots  job -> the state after so many records, as bytes
//   records    place = job * 2^40 + number -> the record, as bytes
//   profiles   name -> a cost profile, as bytes; from version 2 on
//   tokens     job, stream, number of the first document -> tokens of documents, as
//              bytes; from version 3 on
//
// Every row has a checksum over itself: stored_row.h.
#ifndef EVENPACK_SERVER_STORE_SQLITE_SCHEMA_H_
#define EVENPACK_SERVER_STORE_SQLITE_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/store/sqlite_database.h"

namespace evenpack {

// Of the newest format that this program writes and reads.
inline constexpr int64_t kStoreFormatVersion = 3;

// Makes the connection durable (write-ahead log, a flush at every commit) and the
// process the only one with the file, and creates or migrates the tables.
// FAILED_PRECONDITION: the file is another program's, of a newer format, or in use.
absl::Status PrepareToWrite(SqliteDatabase& database);

// The same checks for one who only reads.
absl::Status PrepareToRead(SqliteDatabase& database);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_SQLITE_SCHEMA_H_
