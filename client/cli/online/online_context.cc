#include "client/cli/online/online_context.h"

#include <utility>

#include "client/cpp/security_flags.h"

namespace evenpack {

absl::StatusOr<client::Client> Connect(const FlagValues& values,
                                       const OnlineContext& context,
                                       bool returns_credits) {
  absl::StatusOr<ServerFlags> server = ReadServerFlags(values, context.default_server);
  if (!server.ok()) return server.status();
  absl::StatusOr<client::Security> security =
      client::ReadSecurity(values, context.security_variables, server->address);
  if (!security.ok()) return security.status();
  server->security = *std::move(security);
  server->returns_credits = returns_credits;
  return context.connect(*server);
}

}  // namespace evenpack
