// The servers that a client is told of.
#ifndef EVENPACK_CLIENT_CPP_SERVER_ADDRESSES_H_
#define EVENPACK_CLIENT_CPP_SERVER_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack::client {

// "A[,B...]" as its parts, in order: servers of one database, any of which will do.
// Each is HOST:PORT, where HOST may be an IPv6 address in brackets, or a name with a
// scheme of gRPC's: unix:PATH, unix-abstract:NAME, dns:HOST:PORT, ipv4:ADDRESS:PORT,
// ipv6:[ADDRESS]:PORT. INVALID_ARGUMENT, naming `field`: a part is neither, has
// whitespace at an end, or is there twice.
absl::StatusOr<std::vector<std::string>> ServerAddresses(absl::string_view field,
                                                         absl::string_view text);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SERVER_ADDRESSES_H_
