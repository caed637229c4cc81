#include "server/web/request_host.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace evenpack {

bool IsOwnHost(std::string_view host) {
  // IPv6: no name has a bracket.
  if (host.starts_with('[')) return true;
  host = host.substr(0, host.find(':'));
  if (host.find('.') == std::string_view::npos) return true;
  // IPv4: no name's last part is a number.
  if (host.find_first_not_of("0123456789.") == std::string_view::npos) return true;
  return absl::EndsWithIgnoreCase(absl::string_view(host.data(), host.size()),
                                  ".localhost");
}

}  // namespace evenpack
