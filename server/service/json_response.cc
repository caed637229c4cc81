#include "server/service/json_response.h"

#include <google/protobuf/util/json_util.h>
#include <google/rpc/status.pb.h>

#include <string>

#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "server/service/status_conversion.h"

namespace evenpack {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return 404;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

HttpResponse Printed(int status, const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  // It fails for an Any of an unknown type alone, which no message here has.
  if (!google::protobuf::util::MessageToJsonString(message, &response.body, options)
           .ok()) {
    return {500, std::string(kPlainText), "internal error\n"};
  }
  response.body += '\n';
  return response;
}

}  // namespace

HttpResponse JsonOf(const google::protobuf::Message& message) {
  return Printed(200, message);
}

HttpResponse JsonOf(const absl::Status& status) {
  const bool misdirected = DetailOf(status).reason == kLedElsewhere;
  HttpResponse response =
      Printed(misdirected ? 421 : HttpStatusOf(status.code()), ToRpcStatus(status));
  if (response.status == 401) response.headers = {{"WWW-Authenticate", "Bearer"}};
  return response;
}

}  // namespace evenpack
