#include "client/cli/online/server_flags.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "client/cli/quoted_value.h"
#include "client/cpp/server_addresses.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr double kMostSeconds = 1e6;
constexpr double kDefaultSeconds = 30;
// Of one attempt.
constexpr std::chrono::milliseconds kLongestCall{10'000};
constexpr std::chrono::milliseconds kShortestCall{100};

bool IsAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  uint32_t port = 0;
  return absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 1 &&
         port <= 65535;
}

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
  if (!std::ranges::all_of(*addresses, IsAddress)) {
    return InvalidField(name, QuotedValue(flags.address),
                        "HOST:PORT or unix:PATH, or several with commas between them");
  }
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
