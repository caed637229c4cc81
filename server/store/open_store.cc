#include "server/store/open_store.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/store/memory_store.h"
#include "server/store/sqlite_store.h"

namespace evenpack {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kSqlite[] = "sqlite:";

}  // namespace

absl::Status CheckStoreName(const std::string& name) {
  if (name == kMemory) return absl::OkStatus();
  if (absl::StartsWith(name, kSqlite) && name.size() > sizeof(kSqlite) - 1) {
    return absl::OkStatus();
  }
  return InvalidField("store", absl::StrCat("'", name, "'"),
                      "memory, or sqlite:PATH of a file on a local disk");
}

absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(const std::string& name) {
  if (absl::Status status = CheckStoreName(name); !status.ok()) return status;
  if (name == kMemory) return std::make_unique<MemoryStore>();
  return SqliteStore::Open(name.substr(sizeof(kSqlite) - 1));
}

}  // namespace evenpack
