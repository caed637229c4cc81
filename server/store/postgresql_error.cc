#include "server/store/postgresql_error.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/postgresql_connection.h"

namespace evenpack {
namespace {

constexpr std::string_view kDiskFull = "53100";
// Classes of SQLSTATE, by their first two characters.
constexpr std::string_view kDataException = "22";
constexpr std::string_view kIntegrityViolation = "23";
constexpr std::string_view kBadAuthorization = "28";
constexpr std::string_view kNoSuchCatalog = "3D";
constexpr std::string_view kNoSuchSchema = "3F";
// Also where a permission is missing: 42501.
constexpr std::string_view kSyntaxOrAccess = "42";
constexpr std::string_view kReadOnly = "25006";
constexpr std::string_view kDataDamaged = "XX001";
constexpr std::string_view kIndexDamaged = "XX002";

}  // namespace

absl::Status PostgresqlError(std::string_view sqlstate, std::string_view message) {
  if (sqlstate == PostgresqlConnection::kFenced) {
    return absl::AbortedError("store: another server leads");
  }
  if (sqlstate == PostgresqlConnection::kForgotten) {
    return absl::NotFoundError("store: the database has forgotten this server");
  }
  if (sqlstate == PostgresqlConnection::kNameTaken) {
    return absl::AlreadyExistsError(
        absl::StrCat("job: '", std::string(message), "' is in the store"));
  }
  const std::string text = absl::StrCat("store: ", std::string(message), " (SQLSTATE ",
                                        std::string(sqlstate), ")");
  if (sqlstate == kDiskFull) return absl::ResourceExhaustedError(text);
  if (sqlstate == kDataDamaged || sqlstate == kIndexDamaged) {
    return absl::DataLossError(text);
  }
  if (sqlstate == kReadOnly) return absl::FailedPreconditionError(text);
  for (const std::string_view refused :
       {kDataException, kIntegrityViolation, kBadAuthorization, kNoSuchCatalog,
        kNoSuchSchema, kSyntaxOrAccess}) {
    if (sqlstate.starts_with(refused)) return absl::FailedPreconditionError(text);
  }
  return absl::UnavailableError(text);
}

}  // namespace evenpack
