// What the rows of a store are, whichever database keeps them: tables' names, keys, and
// the checksum that each row has over itself.
#ifndef EVENPACK_SERVER_STORE_STORED_ROW_H_
#define EVENPACK_SERVER_STORE_STORED_ROW_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace evenpack {

inline constexpr std::string_view kJobsTable = "jobs";
inline constexpr std::string_view kSnapshotsTable = "snapshots";
inline constexpr std::string_view kRecordsTable = "records";
inline constexpr std::string_view kProfilesTable = "profiles";
inline constexpr std::string_view kTokensTable = "tokens";

// Jobs are numbered from 1 to this.
inline constexpr int64_t kLastJob = (int64_t{1} << 23) - 1;

// Where a record lies: those of a job behind one another. A job has fewer than 2^40.
constexpr int64_t RecordPlace(int64_t job, uint64_t number) {
  return job * (int64_t{1} << 40) + static_cast<int64_t>(number);
}
// Where the job's last record may lie; of job kLastJob there is no place behind it.
constexpr int64_t LastRecordPlace(int64_t job) {
  return RecordPlace(job, (uint64_t{1} << 40) - 1);
}

// RESOURCE_EXHAUSTED where a new job can't have this number.
absl::Status CheckJobNumber(int64_t job);

// 16 bytes: SipHash of the table's name, the row's numbers and its bytes, so that a row
// that moved is as wrong as one that changed.
std::string RowChecksum(std::string_view table, int64_t key, int64_t number,
                        std::string_view bytes);

// Of a row of kProfilesTable.
std::string ProfileChecksum(std::string_view name, std::string_view bytes);

// Of a row of kTokensTable. A job has fewer than 2^32 streams.
std::string TokensChecksum(int64_t job, int64_t stream, int64_t first,
                           std::string_view bytes);

// DATA_LOSS: `what` is not as it was written.
absl::Status DamagedRow(std::string_view what);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_STORED_ROW_H_
