// --server and --timeout: which server, and how long to try.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_SERVER_FLAGS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_SERVER_FLAGS_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cpp/client_options.h"
#include "client/cpp/security.h"

namespace evenpack {

inline constexpr char kDefaultServer[] = "127.0.0.1:7654";

struct ServerFlags {
  // HOST:PORT or unix:PATH, or several with commas between them.
  std::string address;
  client::Security security = {};
  // After the first failure in a row no attempt is started later than this.
  std::chrono::milliseconds timeout{30'000};
  // Not of a flag: whether subscriptions give a credit back for each step.
  bool returns_credits = true;
};

// `default_server` where --server isn't given; an error in it names EVENPACK_SERVER,
// which is where it comes from. INVALID_ARGUMENT naming the flag.
absl::StatusOr<ServerFlags> ReadServerFlags(const FlagValues& values,
                                            const std::string& default_server);

client::ClientOptions ClientOptionsOf(const ServerFlags& flags);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_SERVER_FLAGS_H_
