#include "client/cpp/client_options.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/server_addresses.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr std::chrono::milliseconds kShortestKeepalive{10'000};

absl::Status CheckAtLeast(absl::string_view field, std::chrono::milliseconds value,
                          std::chrono::milliseconds least) {
  if (value >= least) return absl::OkStatus();
  return InvalidField(field, absl::StrCat(value.count(), " ms"),
                      absl::StrCat("at least ", least.count(), " ms"));
}

}  // namespace

absl::Status Validate(const ClientOptions& options) {
  absl::Status addresses = ServerAddresses("address", options.address).status();
  if (!addresses.ok()) return addresses;
  const std::chrono::milliseconds least{1};
  absl::Status status = Validate(options.security, options.address);
  status.Update(CheckAtLeast("call_timeout", options.call_timeout, least));
  status.Update(Validate(options.backoff));
  status.Update(CheckAtLeast("keepalive_interval", options.keepalive_interval,
                             kShortestKeepalive));
  status.Update(CheckAtLeast("keepalive_timeout", options.keepalive_timeout, least));
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
