#include "client/cpp/wire_status.h"

#include <google/rpc/status.pb.h>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/connection_cause.h"

namespace evenpack::client {
namespace {

// gRPC's C++ answers a call that its server doesn't have, or a message that it can't
// read, without a word.
constexpr absl::string_view kNoSuchCall =
    "the server has no such call, or could not read the request; accepted: the address "
    "where an evenpack-server of this version or a newer one listens (--listen), and "
    "texts in UTF-8";

}  // namespace

absl::Status StatusFromWire(int code, absl::string_view message,
                            const std::string& details) {
  const auto converted = static_cast<absl::StatusCode>(code);
  if (converted == absl::StatusCode::kUnimplemented && message.empty()) {
    message = kNoSuchCall;
  }
  absl::Status result(converted, absl::StrCat(message, ConnectionCause(message)));
  google::rpc::Status status;
  if (!result.ok() && status.ParseFromString(details)) {
    for (const google::protobuf::Any& detail : status.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace evenpack::client
