#include "server/app/config_file.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "server/runtime/file_text.h"
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
  const absl::StatusOr<std::string> text = ReadFileText("config", path);
  if (!text.ok()) return text.status();
  return ParseConfig(*text);
}

}  // namespace evenpack
