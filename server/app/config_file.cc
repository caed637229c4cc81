#include "server/app/config_file.h"

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "server/yaml/one_document.h"

namespace evenpack {
namespace {

absl::Status Refused(const YAML::Mark& mark, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("config: line ", mark.line + 1, ": ", what));
}

absl::StatusOr<std::vector<ConfigValue>> ReadMapping(const YAML::Node& root) {
  std::vector<ConfigValue> values;
  if (root.IsNull()) return values;
  if (!root.IsMap()) {
    return Refused(root.Mark(), "not a mapping; accepted: lines of 'flag: value'");
  }
  std::set<std::string> names;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
      return Refused(entry.first.Mark(),
                     "not a single value; accepted: lines of 'flag: value'");
    }
    const std::string name = entry.first.Scalar();
    if (!names.insert(name).second) {
      return Refused(entry.first.Mark(), absl::StrCat("'", name, "' is given twice"));
    }
    values.push_back({name, entry.second.Scalar(), entry.first.Mark().line + 1});
  }
  return values;
}

}  // namespace

absl::StatusOr<std::vector<ConfigValue>> ParseConfig(const std::string& text) {
  try {
    return ReadMapping(LoadOneDocument(text));
  } catch (const YAML::Exception& error) {
    return Refused(error.mark, error.msg);
  }
}

absl::StatusOr<std::vector<ConfigValue>> ReadConfigFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  // A folder can be opened, and fails at the first byte.
  file.peek();
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    return absl::InvalidArgumentError(
        absl::StrCat("config: '", path, "' can't be read; accepted: a YAML file"));
  }
  return ParseConfig(text.str());
}

}  // namespace evenpack
