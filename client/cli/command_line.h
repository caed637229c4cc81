// What was typed: which command, with which flags.
#ifndef EVENPACK_CLIENT_CLI_COMMAND_LINE_H_
#define EVENPACK_CLIENT_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"

namespace evenpack {

struct CommandLine {
  // A name of CommandDefinitions(); empty where only `text` is asked for.
  std::string command;
  FlagValues flags;
  // The help or the version.
  std::string text;
};

// `arguments` without the program's name.
// INVALID_ARGUMENT: no command or an unknown one, an unknown flag, an argument or a
// flag too many, a flag without its value. Values are not looked at.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_COMMAND_LINE_H_
