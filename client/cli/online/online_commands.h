// The commands that talk to a server, by name.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_ONLINE_COMMANDS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_ONLINE_COMMANDS_H_

#include <string>

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

using OnlineCommand = absl::Status (*)(const FlagValues& values,
                                       const OnlineContext& context);

// Null where `name` is none of OnlineCommands().
OnlineCommand FindOnlineCommand(const std::string& name);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_ONLINE_COMMANDS_H_
