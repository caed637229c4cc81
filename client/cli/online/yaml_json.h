// YAML as JSON, for readers that know only the latter.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_YAML_JSON_H_
#define EVENPACK_CLIENT_CLI_ONLINE_YAML_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace evenpack {

// One document of YAML. A plain scalar that is null, true, false or a number in JSON's
// sense is that; every other scalar is a text. Anchors and aliases are resolved.
// INVALID_ARGUMENT "line N: ...": not YAML, a key that is no text or that a mapping has
// twice, more than 100 levels, more than 400,000 values.
absl::StatusOr<std::string> YamlToJson(std::string_view yaml);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_YAML_JSON_H_
