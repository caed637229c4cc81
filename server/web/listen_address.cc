#include "server/web/listen_address.h"

#include <charconv>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `end` bounds it.
  const std::from_chars_result result = std::from_chars(text.data(), end, port);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return port;
}

// A name, an IPv4 number, or an IPv6 number in brackets, which are taken off.
std::optional<std::string> ParseHost(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    if (text.find(':') == std::string_view::npos) return std::nullopt;
  } else if (text.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.empty() || text.find_first_of("[] \t\n/") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(text);
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    std::optional<std::string> host = ParseHost(text.substr(0, colon));
    const std::optional<uint16_t> port = ParsePort(text.substr(colon + 1));
    if (host.has_value() && port.has_value()) {
      return ListenAddress{*std::move(host), *port};
    }
  }
  return InvalidField("http-listen", absl::StrCat("'", std::string(text), "'"),
                      "HOST:PORT or [IPV6]:PORT, with a port of 0 (any) to 65535");
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  // A name may begin like a number.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string FormatAddress(const ListenAddress& address) {
  const bool bracketed = address.host.find(':') != std::string::npos;
  return absl::StrCat(bracketed ? "[" : "", address.host, bracketed ? "]" : "", ":",
                      address.port);
}

}  // namespace evenpack
