#include "server/access/roles_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/access/job_glob.h"
#include "server/yaml/one_document.h"

namespace evenpack {
namespace {

constexpr size_t kMaxTokenNameBytes = 128;

absl::Status RefusedAt(const YAML::Mark& mark, absl::string_view what) {
  // A file with nothing in it has no line of YAML.
  const int line = mark.is_null() ? 1 : mark.line + 1;
  return absl::InvalidArgumentError(absl::StrCat("roles: line ", line, ": ", what));
}

// The values of a mapping by their keys, of which all are known and none is twice.
using Fields = std::map<std::string, YAML::Node>;

absl::StatusOr<Fields> ReadFields(const YAML::Node& node, const std::string& at,
                                  const std::vector<std::string>& known,
                                  absl::string_view accepted) {
  const std::string prefix = at.empty() ? "" : absl::StrCat(at, ": ");
  if (!node.IsMap()) {
    return RefusedAt(node.Mark(),
                     absl::StrCat(prefix, "no mapping; accepted: ", accepted));
  }
  Fields fields;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return RefusedAt(
          entry.first.Mark(),
          absl::StrCat(prefix, "'", key, "' is not accepted; accepted: ", accepted));
    }
    if (!fields.emplace(key, entry.second).second) {
      return RefusedAt(entry.first.Mark(),
                       absl::StrCat(prefix, "'", key, "' is given twice"));
    }
  }
  return fields;
}

std::optional<Role> RoleNamed(const std::string& name) {
  const auto* const found =
      std::find(std::begin(kRoleNames), std::end(kRoleNames), name);
  if (found == std::end(kRoleNames)) return std::nullopt;
  return static_cast<Role>(found - std::begin(kRoleNames));
}

// Reads one file; what was read before bears on the rest.
class RolesReader {
 public:
  absl::StatusOr<Roles> Read(const YAML::Node& root) {
    constexpr absl::string_view kAccepted = "'grants' with a list of grants";
    if (!root.IsMap()) {
      return RefusedAt(root.Mark(),
                       absl::StrCat(root.IsNull() ? "nothing there" : "no mapping",
                                    "; accepted: ", kAccepted));
    }
    const absl::StatusOr<Fields> fields = ReadFields(root, "", {"grants"}, kAccepted);
    if (!fields.ok()) return fields.status();
    const auto grants = fields->find("grants");
    if (grants == fields->end() || !grants->second.IsSequence()) {
      return RefusedAt(root.Mark(),
                       absl::StrCat("grants: no list; accepted: ", kAccepted));
    }
    Roles roles;
    for (const YAML::Node& node : grants->second) {
      absl::StatusOr<Grant> grant =
          ReadGrant(node, absl::StrCat("grants[", roles.grants.size(), "]"));
      if (!grant.ok()) return grant.status();
      roles.grants.push_back(*std::move(grant));
    }
    return roles;
  }

 private:
  absl::StatusOr<Grant> ReadGrant(const YAML::Node& node, const std::string& at) {
    const absl::StatusOr<Fields> fields =
        ReadFields(node, at, {"role", "jobs", "subjects", "tokens"},
                   "role, jobs, subjects, tokens");
    if (!fields.ok()) return fields.status();
    Grant grant;
    absl::Status status = ReadRole(node, *fields, at, grant);
    status.Update(ReadJobs(node, *fields, at, grant));
    status.Update(ReadList(*fields, at, "subjects", [&grant](const std::string& text) {
      const auto subject = ParseSubject(text);
      if (!subject.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", text, "' is ", subject.status().message()));
      }
      grant.subjects.push_back(*subject);
      return absl::OkStatus();
    }));
    status.Update(ReadList(
        *fields, at, "tokens",
        [this, &grant](const std::string& text) { return ReadToken(text, grant); }));
    if (!status.ok()) return status;
    if (grant.subjects.empty() && grant.tokens.empty()) {
      return RefusedAt(node.Mark(),
                       absl::StrCat(at,
                                    ": neither subjects nor tokens; accepted: at "
                                    "least one of either"));
    }
    return grant;
  }

  static absl::Status ReadRole(const YAML::Node& node, const Fields& fields,
                               const std::string& at, Grant& grant) {
    constexpr absl::string_view kAccepted =
        "is not accepted; accepted: producer, consumer, operator";
    const auto field = fields.find("role");
    if (field == fields.end()) {
      return RefusedAt(node.Mark(), absl::StrCat(at, ".role: none ", kAccepted));
    }
    const std::string name = field->second.IsScalar() ? field->second.Scalar() : "";
    const std::optional<Role> role = RoleNamed(name);
    if (!role.has_value()) {
      return RefusedAt(field->second.Mark(),
                       absl::StrCat(at, ".role: '", name, "' ", kAccepted));
    }
    grant.role = *role;
    return absl::OkStatus();
  }

  static absl::Status ReadJobs(const YAML::Node& node, const Fields& fields,
                               const std::string& at, Grant& grant) {
    absl::Status status =
        ReadList(fields, at, "jobs", [&grant](const std::string& text) {
          if (!IsJobGlob(text)) {
            return absl::InvalidArgumentError(absl::StrCat(
                "'", text,
                "' is not accepted; accepted: 1 to 128 of a-z, A-Z, 0-9, '.', '_', "
                "'-', '*' for any text, '?' for any character"));
          }
          grant.jobs.push_back(text);
          return absl::OkStatus();
        });
    if (!status.ok() || !grant.jobs.empty()) return status;
    return RefusedAt(node.Mark(),
                     absl::StrCat(at, ".jobs: none; accepted: at least one"));
  }

  // `read` gets each text of the list that the field is, where it is there.
  template <typename Read>
  static absl::Status ReadList(const Fields& fields, const std::string& at,
                               const std::string& name, const Read& read) {
    const auto field = fields.find(name);
    if (field == fields.end()) return absl::OkStatus();
    const YAML::Node& list = field->second;
    if (!list.IsSequence()) {
      return RefusedAt(list.Mark(),
                       absl::StrCat(at, ".", name, ": no list; accepted: [TEXT, ...]"));
    }
    for (size_t i = 0; i < list.size(); ++i) {
      const YAML::Node entry = list[i];
      const absl::Status status = read(entry.IsScalar() ? entry.Scalar() : "");
      if (status.ok()) continue;
      return RefusedAt(entry.Mark(),
                       absl::StrCat(at, ".", name, "[", i, "]: ", status.message()));
    }
    return absl::OkStatus();
  }

  // Says nothing of the text but what is a name beyond doubt.
  absl::Status ReadToken(const std::string& text, Grant& grant) {
    const size_t colon = text.rfind(':');
    const std::string name = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::optional<TokenHash> hash = colon == std::string::npos
                                              ? std::nullopt
                                              : ParseTokenHash(text.substr(colon + 1));
    const bool named =
        !name.empty() && name.size() <= kMaxTokenNameBytes &&
        std::all_of(name.begin(), name.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                 std::string_view("._-@/").find(c) != std::string_view::npos;
        });
    if (!named || !hash.has_value()) {
      return absl::InvalidArgumentError(
          "not shown, since it may be a secret; accepted: NAME:HASH with 1 to 128 of "
          "a-z, A-Z, 0-9, '.', '_', '-', '@', '/' and the 64 hexadecimal digits of a "
          "token's SHA-256");
    }
    const auto [known, added] = names_.emplace(*hash, name);
    if (!added && known->second != name) {
      return absl::InvalidArgumentError(
          absl::StrCat("the token of '", name, "' is that of '", known->second,
                       "' as well; accepted: one name for a token"));
    }
    grant.tokens.push_back({name, *hash});
    return absl::OkStatus();
  }

  std::map<TokenHash, std::string> names_;
};

}  // namespace

absl::StatusOr<Roles> ParseRoles(const std::string& text) {
  try {
    return RolesReader().Read(LoadOneDocument(text));
  } catch (const YAML::Exception& error) {
    return RefusedAt(error.mark, error.msg);
  }
}

}  // namespace evenpack
