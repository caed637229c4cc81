// gRPC's status as absl's.
#ifndef EVENPACK_CLIENT_CPP_GRPC_STATUS_H_
#define EVENPACK_CLIENT_CPP_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace evenpack::client {

// The same code and message; each of google.rpc.Status.details becomes a payload under
// its type URL, which is where error_details.h looks for them.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GRPC_STATUS_H_
