#include "client/cpp/server_addresses.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr char kAccepted[] =
    "HOST:PORT, [IPV6]:PORT or unix:PATH, or several with commas between them, each of "
    "them once";
constexpr uint32_t kMostPort = 65535;

bool HasScheme(absl::string_view address) {
  constexpr absl::string_view kSchemes[] = {
      "unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:"};
  return std::ranges::any_of(kSchemes, [address](absl::string_view scheme) {
    return absl::StartsWith(address, scheme) && address.size() > scheme.size();
  });
}

// gRPC would take a host alone, and look for its port 443; a URL as a host; and of an
// IPv6 address without brackets the last part as a port.
bool HasPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  const absl::string_view host = address.substr(0, colon);
  const bool is_bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (absl::StrContains(host, '/') || (absl::StrContains(host, ':') && !is_bracketed)) {
    return false;
  }
  uint32_t port = 0;
  return absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 1 &&
         port <= kMostPort;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ServerAddresses(absl::string_view field,
                                                         absl::string_view text) {
  std::vector<std::string> addresses = absl::StrSplit(text, ',');
  for (auto at = addresses.begin(); at != addresses.end(); ++at) {
    const bool stripped = *at == absl::StripAsciiWhitespace(*at);
    if (!(HasScheme(*at) || HasPort(*at)) || !stripped ||
        std::find(addresses.begin(), at, *at) != at) {
      return InvalidField(field, absl::StrCat("'", absl::Utf8SafeCEscape(text), "'"),
                          kAccepted);
    }
  }
  return addresses;
}

}  // namespace evenpack::client
