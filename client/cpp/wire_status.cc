#include "client/cpp/wire_status.h"

#include <google/rpc/status.pb.h>

#include "absl/strings/cord.h"

namespace evenpack::client {

absl::Status StatusFromWire(int code, absl::string_view message,
                            const std::string& details) {
  absl::Status result(static_cast<absl::StatusCode>(code), message);
  google::rpc::Status status;
  if (!result.ok() && status.ParseFromString(details)) {
    for (const google::protobuf::Any& detail : status.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace evenpack::client
