#include "client/cli/online/server_flags.h"

#include <algorithm>
#include <cstdint>

#include "client/cpp/server_addresses.h"

namespace evenpack {
namespace {

constexpr double kMostSeconds = 1e6;
constexpr double kDefaultSeconds = 30;
// Of one attempt.
constexpr std::chrono::milliseconds kLongestCall{10'000};
constexpr std::chrono::milliseconds kShortestCall{100};

}  // namespace

absl::StatusOr<ServerFlags> ReadServerFlags(const FlagValues& values,
                                            const std::string& default_server) {
  FlagReader reader(values);
  ServerFlags flags;
  flags.address = reader.Text("--server", "HOST:PORT[,HOST:PORT...]", default_server);
  const double seconds = reader.Real("--timeout", 0, kMostSeconds, kDefaultSeconds);
  if (!reader.status().ok()) return reader.status();
  flags.timeout = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  const char* const name = IsGiven(values, "--server") ? "--server" : "EVENPACK_SERVER";
  const auto addresses = client::ServerAddresses(name, flags.address);
  if (!addresses.ok()) return addresses.status();
  return flags;
}

client::ClientOptions ClientOptionsOf(const ServerFlags& flags) {
  client::ClientOptions options;
  options.address = flags.address;
  options.security = flags.security;
  options.call_timeout = std::clamp(flags.timeout, kShortestCall, kLongestCall);
  options.backoff.total = flags.timeout;
  return options;
}

}  // namespace evenpack
