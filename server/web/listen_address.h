// Where the HTTP port listens, as an operator writes it.
#ifndef EVENPACK_SERVER_WEB_LISTEN_ADDRESS_H_
#define EVENPACK_SERVER_WEB_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace evenpack {

struct ListenAddress {
  std::string host;  // a name or a number; IPv6 without brackets
  uint16_t port = 0;
};

// Reads "HOST:PORT", with an IPv6 number in brackets: "[::1]:9090". INVALID_ARGUMENT
// names http-listen and the text.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Whether none but this machine reaches the host: "localhost", ::1, 127.0.0.0/8.
bool IsLoopback(std::string_view host);

// The other way round.
std::string FormatAddress(const ListenAddress& address);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_LISTEN_ADDRESS_H_
