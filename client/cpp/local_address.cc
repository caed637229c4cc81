#include "client/cpp/local_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace evenpack::client {
namespace {

constexpr int kBitsOfIpv4Host = 24;
constexpr uint32_t kLoopbackNetwork = 127;

bool IsLocalHost(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> kBitsOfIpv4Host == kLoopbackNetwork;
  }
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool IsLocal(absl::string_view address) {
  for (const absl::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (absl::ConsumePrefix(&address, scheme)) return !address.empty();
  }
  for (const absl::string_view scheme : {"ipv4:", "ipv6:"}) {
    absl::ConsumePrefix(&address, scheme);
  }
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) return false;
  return IsLocalHost(std::string(host));
}

}  // namespace

bool IsLocalAddress(absl::string_view addresses) {
  const std::vector<absl::string_view> each = absl::StrSplit(addresses, ',');
  return std::ranges::all_of(each, IsLocal);
}

}  // namespace evenpack::client
