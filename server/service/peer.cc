#include "server/service/peer.h"

#include <arpa/inet.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace evenpack {
namespace {

// Of a certificate, in the order in which they are looked for.
constexpr std::pair<const char*, const char*> kNames[] = {
    {GRPC_X509_SAN_PROPERTY_NAME, "san="}, {GRPC_X509_CN_PROPERTY_NAME, "cn="}};

// So many of a token's hash tell tokens apart.
constexpr size_t kHashBytes = 8;

// As inet_ntop has it; empty where it is no address.
std::string PlainIpV6(const std::string& text) {
  in6_addr address;
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return "";
  std::array<char, INET6_ADDRSTRLEN> plain;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], plain.data(), plain.size());
  } else {
    inet_ntop(AF_INET6, &address, plain.data(), plain.size());
  }
  return plain.data();
}

// Of "[::1]:4711", whose brackets may be escaped, as may the '%' before a zone.
std::string HostOfIpV6(absl::string_view escaped) {
  const std::string text =
      absl::StrReplaceAll(escaped, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t end = text.find(']');
  if (!text.starts_with('[') || end == std::string::npos) return "";
  const std::string host = text.substr(1, end - 1);
  const size_t zone = host.find('%');
  std::string plain = PlainIpV6(host.substr(0, zone));
  if (plain.empty() || zone == std::string::npos) return plain;
  return absl::StrCat(plain, host.substr(zone));
}

// Of a verified certificate; empty without one.
std::string NameOf(const grpc::AuthContext* authenticated) {
  if (authenticated == nullptr || !authenticated->IsPeerAuthenticated()) return "";
  for (const auto& [property, kind] : kNames) {
    const std::vector<grpc::string_ref> names =
        authenticated->FindPropertyValues(property);
    if (names.empty()) continue;
    return absl::StrCat(kind,
                        absl::string_view(names.front().data(), names.front().size()));
  }
  return "";
}

}  // namespace

std::string PeerOfAddress(absl::string_view address) {
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, "ipv4:")) {
    return std::string(rest.substr(0, rest.rfind(':')));
  }
  if (absl::ConsumePrefix(&rest, "ipv6:")) {
    std::string host = HostOfIpV6(rest);
    return host.empty() ? std::string(address) : host;
  }
  if (absl::StartsWith(rest, "unix:") || absl::StartsWith(rest, "unix-abstract:")) {
    return "unix";
  }
  return std::string(address);
}

std::string PeerOf(const grpc::AuthContext* authenticated, const Caller& caller,
                   absl::string_view address) {
  std::string certified = NameOf(authenticated);
  if (!certified.empty()) return certified;
  if (caller.token.has_value()) {
    const std::string hash(caller.token->begin(), caller.token->end());
    return absl::StrCat("token=", absl::BytesToHexString(hash.substr(0, kHashBytes)));
  }
  return PeerOfAddress(address);
}

std::string PeerOf(const grpc::ServerContextBase& context, const Caller& caller) {
  const std::shared_ptr<const grpc::AuthContext> authenticated = context.auth_context();
  return PeerOf(authenticated.get(), caller, context.peer());
}

}  // namespace evenpack
