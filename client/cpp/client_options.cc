#include "client/cpp/client_options.h"

#include "client/cpp/server_addresses.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr std::chrono::milliseconds kShortestKeepalive{10'000};

// What gRPC takes of one.
constexpr std::chrono::milliseconds kLongestKeepalive{2'147'483'647};

}  // namespace

absl::Status Validate(const ClientOptions& options) {
  absl::Status addresses = ServerAddresses("address", options.address).status();
  if (!addresses.ok()) return addresses;
  const std::chrono::milliseconds least{1};
  absl::Status status = Validate(options.security, options.address);
  status.Update(CheckWait("call_timeout", options.call_timeout, least, kLongestWait));
  status.Update(Validate(options.backoff));
  status.Update(CheckWait("keepalive_interval", options.keepalive_interval,
                          kShortestKeepalive, kLongestKeepalive));
  status.Update(CheckWait("keepalive_timeout", options.keepalive_timeout, least,
                          kLongestKeepalive));
  if (status.ok() && options.max_message_bytes < 1) {
    return InvalidField("max_message_bytes", options.max_message_bytes,
                        "1 to 2147483647");
  }
  if (status.ok() && (options.clock == nullptr || options.sleeper == nullptr)) {
    return InvalidField("clock, sleeper", "null", "an object");
  }
  return status;
}

}  // namespace evenpack::client
