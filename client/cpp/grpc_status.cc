#include "client/cpp/grpc_status.h"

#include <grpcpp/support/status.h>

#include "client/cpp/wire_status.h"

namespace evenpack::client {

absl::Status FromGrpcStatus(const grpc::Status& status) {
  return StatusFromWire(status.error_code(), status.error_message(),
                        status.error_details());
}

}  // namespace evenpack::client
