#include "client/cpp/wire_status.h"

#include <google/rpc/status.pb.h>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/connection_cause.h"

namespace evenpack::client {

absl::Status StatusFromWire(int code, absl::string_view message,
                            const std::string& details) {
  absl::Status result(static_cast<absl::StatusCode>(code),
                      absl::StrCat(message, ConnectionCause(message)));
  google::rpc::Status status;
  if (!result.ok() && status.ParseFromString(details)) {
    for (const google::protobuf::Any& detail : status.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace evenpack::client
