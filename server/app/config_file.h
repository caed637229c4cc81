// A configuration file: the flags of evenpack-server as YAML.
#ifndef EVENPACK_SERVER_APP_CONFIG_FILE_H_
#define EVENPACK_SERVER_APP_CONFIG_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace evenpack {

struct ConfigValue {
  std::string name;
  std::string value;
  // In the file, from 1.
  int line = 0;
};

// The top-level scalars of a YAML mapping, in order. INVALID_ARGUMENT naming the line:
// text that isn't YAML, something else than a mapping of names to scalars, a name given
// twice.
absl::StatusOr<std::vector<ConfigValue>> ParseConfig(const std::string& text);

// ParseConfig of a file; errors also of ReadFileText.
absl::StatusOr<std::vector<ConfigValue>> ReadConfigFile(const std::string& path);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_CONFIG_FILE_H_
