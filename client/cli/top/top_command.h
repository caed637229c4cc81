// evenpackctl top: a server's jobs, or one of them, as they are.
#ifndef EVENPACK_CLIENT_CLI_TOP_TOP_COMMAND_H_
#define EVENPACK_CLIENT_CLI_TOP_TOP_COMMAND_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"
#include "client/cli/top/terminal.h"

namespace evenpack {

// On a terminal until Ctrl-C, which is no error, each --interval anew; else once. With
// --json a line for each look. Errors as those of jobs_commands.h.
absl::Status RunTop(const FlagValues& values, const OnlineContext& context);

// The same where `size` tells of the terminal.
using TerminalSizeNow = std::function<std::optional<TerminalSize>()>;
absl::Status RunTopOn(const FlagValues& values, const OnlineContext& context,
                      const TerminalSizeNow& size);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_TOP_COMMAND_H_
