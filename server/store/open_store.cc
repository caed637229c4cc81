#include "server/store/open_store.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/store/no_store.h"
#include "server/store/postgresql_store.h"
#include "server/store/postgresql_target.h"
#include "server/store/sqlite_store.h"

namespace evenpack {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kSqlite[] = "sqlite:";
constexpr char kPostgresql[] = "postgresql:";
// The other name that libpq has for the scheme of its URIs.
constexpr char kPostgres[] = "postgres://";

bool NamesDatabase(const std::string& name) {
  return absl::StartsWith(name, kPostgresql) || absl::StartsWith(name, kPostgres);
}

// Of a name that is no store's: it may be a database's that was written wrongly, with a
// password.
std::string Beginning(const std::string& name) {
  const size_t end = name.find_first_of(":= ");
  if (end == std::string::npos || end + 1 == name.size()) return name;
  return absl::StrCat(name.substr(0, end + 1), "...");
}

}  // namespace

absl::Status CheckStoreName(const std::string& name) {
  if (name == kMemory) return absl::OkStatus();
  if (absl::StartsWith(name, kSqlite) && name.size() > sizeof(kSqlite) - 1) {
    return absl::OkStatus();
  }
  if (NamesDatabase(name)) return PostgresqlTarget(name).status();
  return InvalidField("store", absl::StrCat("'", Beginning(name), "'"),
                      "memory, sqlite:PATH of a file on a local disk, or "
                      "postgresql://USER@HOST/DATABASE");
}

absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(const std::string& name) {
  if (absl::Status status = CheckStoreName(name); !status.ok()) return status;
  if (name == kMemory) return std::make_unique<NoStore>();
  if (NamesDatabase(name)) {
    return PostgresqlStore::Open(PostgresqlTarget(name).value());
  }
  return SqliteStore::Open(name.substr(sizeof(kSqlite) - 1));
}

std::string ShownStoreName(const std::string& name) {
  const absl::StatusOr<std::string> target = PostgresqlTarget(name);
  return target.ok() ? ShownTarget(*target) : name;
}

}  // namespace evenpack
