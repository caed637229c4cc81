// A status as it came over the wire, as absl's.
#ifndef EVENPACK_CLIENT_CPP_WIRE_STATUS_H_
#define EVENPACK_CLIENT_CPP_WIRE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace evenpack::client {

// gRPC's codes are absl's. `details`: the bytes of a google.rpc.Status, each of whose
// details becomes a payload under its type URL, which is where error_details.h looks
// for them; anything else has none. Behind the message of a connection that could not
// be made stands what may be the cause (connection_cause.h); that of a call which the
// server doesn't have says so.
absl::Status StatusFromWire(int code, absl::string_view message,
                            const std::string& details);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_WIRE_STATUS_H_
