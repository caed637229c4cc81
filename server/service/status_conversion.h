// Statuses of the server as gRPC carries them: google.rpc.Status with details.
#ifndef EVENPACK_SERVER_SERVICE_STATUS_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_STATUS_CONVERSION_H_

#include "absl/status/status.h"

namespace google::rpc {
class Status;
}
namespace grpc {
class Status;
}

namespace evenpack {

// Code and message as they are. Details: ErrorInfo always (the status' detail, or else
// a reason that says no more than the code); BadRequest where a field was refused;
// RetryInfo for UNAVAILABLE, but for LED_ELSEWHERE: not here again; QuotaFailure for
// RESOURCE_EXHAUSTED.
grpc::Status ToGrpc(const absl::Status& status);
// The same as the message; `status` is not OK.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STATUS_CONVERSION_H_
