#include "server/store/postgresql_places.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

constexpr std::string_view kOne =
    "SELECT name, CASE WHEN lives OR server = $1::text THEN address ELSE '' END, "
    "(server = $1::text)::integer::bigint FROM evenpack_places WHERE name = $2::text";

constexpr std::string_view kMany =
    "SELECT name, CASE WHEN lives OR server = $1::text THEN address ELSE '' END, "
    "(server = $1::text)::integer::bigint FROM evenpack_places "
    "WHERE name COLLATE \"C\" > $2::text ORDER BY name COLLATE \"C\" LIMIT $3::bigint";

// One page of a list is less.
constexpr size_t kMost = 1 << 20;

JobPlace TakePlace(const PostgresqlRows& rows, int row) {
  return {.job = std::string(rows.Bytes(row, 0)),
          .address = std::string(rows.Bytes(row, 1)),
          .here = rows.Integer(row, 2) == 1};
}

}  // namespace

absl::StatusOr<JobPlace> FindPlace(const std::string& here, const std::string& job,
                                   PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> rows =
      connection.Ask(kOne, PostgresqlValues().Add(here).Add(job));
  if (!rows.ok()) return rows.status();
  if (rows->size() == 1) return TakePlace(*rows, 0);
  return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
}

absl::StatusOr<std::vector<JobPlace>> FindPlaces(const std::string& here,
                                                 const std::string& after, size_t most,
                                                 PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> rows =
      connection.Ask(kMany, PostgresqlValues().Add(here).Add(after).Add(
                                static_cast<int64_t>(std::min(most, kMost))));
  if (!rows.ok()) return rows.status();
  std::vector<JobPlace> places;
  places.reserve(static_cast<size_t>(rows->size()));
  for (int row = 0; row < rows->size(); ++row) places.push_back(TakePlace(*rows, row));
  return places;
}

}  // namespace evenpack
