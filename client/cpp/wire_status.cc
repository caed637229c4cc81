#include "client/cpp/wire_status.h"

#include <google/rpc/status.pb.h>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
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
// What gRPC's message has of a call that was answered with an error of HTTP's.
constexpr absl::string_view kHttpError = "Received http2 header with status: ";
constexpr absl::string_view kProxy =
    "; what answered speaks HTTP and no gRPC: a proxy on the way, or another port than "
    "the server's";

}  // namespace

absl::Status StatusFromWire(int code, absl::string_view message,
                            const std::string& details) {
  const auto converted = static_cast<absl::StatusCode>(code);
  if (converted == absl::StatusCode::kUnimplemented && message.empty()) {
    message = kNoSuchCall;
  }
  absl::Status result(converted, absl::StrCat(message, ConnectionCause(message)));
  if (absl::StrContains(message, kHttpError)) {
    // A proxy's 404 is no word of the server's: it may know its way again soon.
    const bool is_not_found = converted == absl::StatusCode::kUnimplemented;
    result = absl::Status(is_not_found ? absl::StatusCode::kUnavailable : converted,
                          absl::StrCat(message, kProxy));
  }
  google::rpc::Status status;
  if (!result.ok() && status.ParseFromString(details)) {
    for (const google::protobuf::Any& detail : status.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace evenpack::client
