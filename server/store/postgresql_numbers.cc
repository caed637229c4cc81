#include "server/store/postgresql_numbers.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"
#include "server/store/stored_row.h"

namespace evenpack {
namespace {

// A launcher may ask for a job's making at each of its starts: what is there takes no
// number. `highest` is of what is there, also of rows whose job is gone.
constexpr std::string_view kNext =
    "SELECT CASE WHEN taken IS NULL THEN nextval('evenpack_job_ids') ELSE 0 END, "
    "coalesce(taken, ''), highest FROM generate_series(1, $1::bigint), "
    "(SELECT min(name) AS taken FROM evenpack_jobs WHERE name = ANY (ARRAY("
    "SELECT convert_from(made, 'UTF8') FROM unnest($2::bytea[]) AS made))) AS found, "
    "(SELECT greatest((SELECT max(id) FROM evenpack_jobs), "
    "(SELECT max(job) FROM evenpack_leases), "
    "(SELECT max(job) FROM evenpack_snapshots), "
    "(SELECT -min(job) FROM evenpack_snapshots), "
    "(SELECT max(job) FROM evenpack_tokens), "
    "(SELECT max(place) >> 40 FROM evenpack_records), 0) AS highest) AS used";

// Forwards alone, whoever else takes numbers.
constexpr std::string_view kPass =
    "SELECT max(nextval('evenpack_job_ids')) FROM generate_series(1, $1::bigint)";

constexpr int kAttempts = 3;

}  // namespace

absl::StatusOr<std::vector<int64_t>> NewJobNumbers(
    size_t count, std::span<const std::string_view> names,
    PostgresqlConnection& connection) {
  std::vector<int64_t> numbers;
  for (int attempt = 0; attempt < kAttempts && count > 0; ++attempt) {
    const absl::StatusOr<PostgresqlRows> rows = connection.Ask(
        kNext, PostgresqlValues().Add(static_cast<int64_t>(count)).Add(names));
    if (!rows.ok()) return rows.status();
    if (const std::string_view taken = rows->Bytes(0, 1); !taken.empty()) {
      return absl::AlreadyExistsError(
          absl::StrCat("job: '", std::string(taken), "' is in the store"));
    }
    numbers.clear();
    for (int row = 0; row < rows->size(); ++row) {
      numbers.push_back(rows->Integer(row, 0));
    }
    std::sort(numbers.begin(), numbers.end());
    const int64_t highest = rows->Integer(0, 2);
    absl::Status status = CheckJobNumber(std::max(numbers.back(), highest + 1));
    if (!status.ok()) return status;
    if (numbers.front() > highest) return numbers;
    // A sequence is not replicated logically, nor in a copy of the tables alone.
    Log(LogLevel::kWarning, "job numbers were behind",
        {{"next", absl::StrCat(numbers.front())},
         {"highest_used", absl::StrCat(highest)}});
    status = connection.Ask(kPass, PostgresqlValues().Add(highest - numbers.back()))
                 .status();
    if (!status.ok()) return status;
  }
  if (count == 0) return numbers;
  return absl::UnavailableError("store: numbers of jobs are behind those in use");
}

}  // namespace evenpack
