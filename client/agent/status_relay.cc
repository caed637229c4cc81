#include "client/agent/status_relay.h"

#include <google/rpc/status.pb.h>
#include <grpcpp/support/error_details.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "server/service/status_conversion.h"

namespace evenpack::agent {
namespace {

constexpr char kTypes[] = "type.googleapis.com/google.rpc.";

}  // namespace

grpc::Status Relayed(const absl::Status& status) {
  google::rpc::Status to;
  status.ForEachPayload([&to](absl::string_view url, const absl::Cord& value) {
    if (!absl::StartsWith(url, kTypes)) return;
    google::protobuf::Any& detail = *to.add_details();
    detail.set_type_url(std::string(url));
    detail.set_value(std::string(value));
  });
  if (to.details().empty()) return ToGrpc(status);
  to.set_code(static_cast<int>(status.code()));
  to.set_message(std::string(status.message()));
  grpc::Status converted;
  grpc::SetErrorDetails(to, &converted);
  return converted;
}

}  // namespace evenpack::agent
