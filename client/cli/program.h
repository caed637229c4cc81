// evenpackctl from its arguments to what it writes.
#ifndef EVENPACK_CLIENT_CLI_PROGRAM_H_
#define EVENPACK_CLIENT_CLI_PROGRAM_H_

#include <string>
#include <vector>

namespace evenpack {

inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInternalError = 1;

struct ProgramResult {
  // 0; kExitBadInput; kExitInternalError for a fault of evenpackctl itself.
  int exit_code = 0;
  // For standard output; empty on an error.
  std::string out;
  // For standard error; on an error one line "evenpackctl: MESSAGE".
  std::string err;
};

// `arguments` without the program's name. Reads files, and standard input where asked
// to, and writes nothing but a progress bar to a terminal.
ProgramResult RunProgram(const std::vector<std::string>& arguments);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PROGRAM_H_
