#include "server/store/stored_row.h"

#include "absl/strings/str_cat.h"
#include "server/core/digest/digest.h"
#include "server/core/digest/digest_bytes.h"

namespace evenpack {

std::string RowChecksum(std::string_view table, int64_t key, int64_t number,
                        std::string_view bytes) {
  DigestBuilder builder;
  builder.Text(table);
  builder.Word(static_cast<uint64_t>(key));
  builder.Word(static_cast<uint64_t>(number));
  builder.Text(bytes);
  return DigestBytes(builder.Finish());
}

// The key is how much of the bytes is the name.
std::string ProfileChecksum(std::string_view name, std::string_view bytes) {
  return RowChecksum(kProfilesTable, static_cast<int64_t>(name.size()), 0,
                     std::string(name) + std::string(bytes));
}

std::string TokensChecksum(int64_t job, int64_t stream, int64_t first,
                           std::string_view bytes) {
  return RowChecksum(kTokensTable, job * (int64_t{1} << 32) + stream, first, bytes);
}

absl::Status CheckJobNumber(int64_t job) {
  if (job <= kLastJob) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("store: no number is left for a job, as ", kLastJob,
                   " were used, also by jobs that are gone; accepted: a new store"));
}

absl::Status DamagedRow(std::string_view what) {
  return absl::DataLossError(absl::StrCat("store: ", std::string(what),
                                          "; accepted: rows as they were written"));
}

}  // namespace evenpack
