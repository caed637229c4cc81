// evenpackctl from its arguments to what it writes.
#ifndef EVENPACK_CLIENT_CLI_PROGRAM_H_
#define EVENPACK_CLIENT_CLI_PROGRAM_H_

#include <string>
#include <vector>

#include "client/cli/online/online_context.h"

namespace evenpack {

// 0 otherwise. docs/evenpackctl.md says more of each.
enum ExitCode : int {
  // A fault of evenpackctl itself, or standard output can't be written.
  kExitInternalError = 1,
  // A flag, a file, or a value that the server doesn't accept.
  kExitBadInput = 2,
  // The server, or the client on its behalf, refused for any other reason; or what was
  // verified is damaged.
  kExitRefused = 3,
  // The server can't be reached, or said to come back later, until the time was up.
  kExitUnavailable = 4,
  // And the signal's number: 130 by Ctrl-C, 143 by SIGTERM.
  kExitBySignal = 128,
};

// `arguments` without the program's name. Reads files, and standard input where asked
// to. Standard error has, on an error, one line "evenpackctl: MESSAGE", and notes and a
// progress bar besides. Commands without a server write nothing to standard output on
// an error.
int RunProgram(const std::vector<std::string>& arguments, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PROGRAM_H_
