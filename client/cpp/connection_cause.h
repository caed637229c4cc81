// What a transport's message about a connection comes down to.
#ifndef EVENPACK_CLIENT_CPP_CONNECTION_CAUSE_H_
#define EVENPACK_CLIENT_CPP_CONNECTION_CAUSE_H_

#include "absl/strings/string_view.h"

namespace evenpack::client {

// In gRPC's words, which are OpenSSL's or BoringSSL's: the two ends don't agree on who
// they are or on TLS at all, or the client's own files don't go together, so that
// another attempt ends in the same way as long as nobody changes a file or a flag.
bool IsHandshakeRefusal(absl::string_view message);

// What may be behind it, in words for whoever runs the client; empty for a connection
// that failed as connections do, and where the message has those words, as an agent has
// passed it on. Begins with "; ".
absl::string_view ConnectionCause(absl::string_view message);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CONNECTION_CAUSE_H_
