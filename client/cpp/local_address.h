// Whether an address leaves this machine.
#ifndef EVENPACK_CLIENT_CPP_LOCAL_ADDRESS_H_
#define EVENPACK_CLIENT_CPP_LOCAL_ADDRESS_H_

#include "absl/strings/string_view.h"

namespace evenpack::client {

// True for a Unix socket, and for HOST:PORT whose host is `localhost` or a number of
// the loopback network, also as gRPC writes them ("ipv4:127.0.0.1:1", "unix:///a").
// Of several with commas between them: each is. What is no address is not.
bool IsLocalAddress(absl::string_view addresses);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_LOCAL_ADDRESS_H_
