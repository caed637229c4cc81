// What the commands that talk to a server stand on; tests put their own in its place.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_ONLINE_CONTEXT_H_
#define EVENPACK_CLIENT_CLI_ONLINE_ONLINE_CONTEXT_H_

#include <functional>
#include <map>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/server_flags.h"
#include "client/cli/output.h"
#include "client/cpp/client.h"

namespace evenpack {

struct OnlineContext {
  // Standard output and standard error.
  Output& out;
  Output& err;
  // Where a progress bar is drawn; null: nowhere.
  std::ostream* terminal;
  // Requested by a signal while a command reads documents or steps.
  Interrupt& interrupt;
  // The server where --server isn't given.
  std::string default_server;
  // What stands for flags of security that aren't given: client/cpp/security_flags.h.
  std::map<std::string, std::string> security_variables;
  std::function<absl::StatusOr<client::Client>(const ServerFlags&)> connect;
};

// The client for the server that the flags name, with the security that they or the
// environment say. INVALID_ARGUMENT naming the flag or the variable.
absl::StatusOr<client::Client> Connect(const FlagValues& values,
                                       const OnlineContext& context,
                                       bool returns_credits = true);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_ONLINE_CONTEXT_H_
