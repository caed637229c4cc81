#include "client/cli/online/online_context.h"

namespace evenpack {

absl::StatusOr<client::Client> Connect(const FlagValues& values,
                                       const OnlineContext& context,
                                       bool returns_credits) {
  absl::StatusOr<ServerFlags> server = ReadServerFlags(values, context.default_server);
  if (!server.ok()) return server.status();
  server->returns_credits = returns_credits;
  return context.connect(*server);
}

}  // namespace evenpack
