#include "client/cpp/grpc_status.h"

#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include "absl/strings/cord.h"

namespace evenpack::client {

absl::Status FromGrpcStatus(const grpc::Status& status) {
  // The codes are the same numbers.
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
  google::rpc::Status details;
  if (!status.ok() && details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace evenpack::client
