// What a command writes once it has done its work.
#ifndef EVENPACK_CLIENT_CLI_COMMAND_OUTPUT_H_
#define EVENPACK_CLIENT_CLI_COMMAND_OUTPUT_H_

#include <string>

namespace evenpack {

struct CommandOutput {
  // For standard output.
  std::string text;
  // For standard error: what the user should know besides, or nothing.
  std::string note;
  // What it looked at is not as it should be.
  bool failed = false;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_COMMAND_OUTPUT_H_
