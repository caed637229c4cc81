#include "server/store/postgresql_target.h"

#include <libpq-fe.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr std::string_view kPrefix = "postgresql:";
constexpr std::string_view kUri = "postgresql://";
constexpr std::string_view kShortUri = "postgres://";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

// Null where libpq takes it for no target.
Options Parse(const std::string& target) {
  char* error = nullptr;
  Options options(PQconninfoParse(target.c_str(), &error));
  // It may quote what stands where a password should.
  PQfreemem(error);
  return options;
}

// Of a password with an unescaped "/" or "@" libpq takes a part for a port, a host or a
// database, and tells it in its errors. Behind an "@" a host is a socket without a
// file.
bool HoldsPartsOfAPassword(std::string_view target, const Options& options) {
  const size_t colon = target.find("://");
  if (colon != std::string_view::npos) {
    const size_t path = target.find('/', colon + 3);
    if (target.substr(0, target.find('?')).find('@', path) != std::string_view::npos)
      return true;
  }
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr;
       ++option) {
    if (option->val == nullptr) continue;
    const std::string_view name = option->keyword;
    const std::string_view value = option->val;
    if ((name == "host" && value.find('@', 1) != std::string_view::npos) ||
        (name == "port" &&
         value.find_first_not_of("0123456789,") != std::string_view::npos)) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> PostgresqlTarget(std::string_view name) {
  std::string target;
  if (name.starts_with(kUri) || name.starts_with(kShortUri)) {
    target = std::string(name);
  } else if (name.starts_with(kPrefix)) {
    target = std::string(name.substr(kPrefix.size()));
  }
  const Options options = Parse(target);
  if (!target.empty() && options != nullptr &&
      !HoldsPartsOfAPassword(target, options)) {
    return target;
  }
  return InvalidField("store",
                      name.starts_with(kShortUri) ? "what follows postgres:"
                                                  : "what follows postgresql:",
                      "postgresql://USER@HOST/DATABASE, in which other characters are "
                      "escaped (%2F is /, %40 is @), or postgresql:host=HOST "
                      "dbname=DATABASE and other parameters of libpq");
}

std::string ShownTarget(const std::string& target) {
  std::vector<std::string> shown;
  const Options options = Parse(target);
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    const std::string_view name = option->keyword;
    if (option->val == nullptr) continue;
    if (name == "host" || name == "hostaddr" || name == "port" || name == "dbname" ||
        name == "user") {
      shown.push_back(absl::StrCat(option->keyword, "=", option->val));
    }
  }
  return absl::StrCat("postgresql:", absl::StrJoin(shown, " "));
}

PostgresqlParameters ConnectionParameters(const std::string& target) {
  // What stands in the target goes before what is given ahead of it.
  return {{"connect_timeout", "2"},
          {"keepalives_idle", "2"},
          {"keepalives_interval", "1"},
          {"keepalives_count", "3"},
          {"tcp_user_timeout", "5000"},
          {"target_session_attrs", "read-write"},
          {"application_name", "evenpack-server"},
          {"dbname", target},
          {"client_encoding", "UTF8"}};
}

}  // namespace evenpack
