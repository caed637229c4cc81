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

}  // namespace

absl::Status CheckStoreName(const std::string& name) {
  if (name == kMemory) return absl::OkStatus();
  if (absl::StartsWith(name, kSqlite) && name.size() > sizeof(kSqlite) - 1) {
    return absl::OkStatus();
  }
  if (absl::StartsWith(name, kPostgresql)) return PostgresqlTarget(name).status();
  return InvalidField("store", absl::StrCat("'", name, "'"),
                      "memory, sqlite:PATH of a file on a local disk, or "
                      "postgresql://USER@HOST/DATABASE");
}

absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(const std::string& name) {
  if (absl::Status status = CheckStoreName(name); !status.ok()) return status;
  if (name == kMemory) return std::make_unique<NoStore>();
  if (absl::StartsWith(name, kPostgresql)) {
    return PostgresqlStore::Open(PostgresqlTarget(name).value());
  }
  return SqliteStore::Open(name.substr(sizeof(kSqlite) - 1));
}

std::string ShownStoreName(const std::string& name) {
  const absl::StatusOr<std::string> target = PostgresqlTarget(name);
  return target.ok() ? ShownTarget(*target) : name;
}

}  // namespace evenpack
