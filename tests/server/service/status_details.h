// google.rpc details of statuses, for tests.
#ifndef EVENPACK_TESTS_SERVER_SERVICE_STATUS_DETAILS_H_
#define EVENPACK_TESTS_SERVER_SERVICE_STATUS_DETAILS_H_

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>

namespace evenpack::testing {

// The one detail of this kind; none where there is none.
template <typename Detail>
std::optional<Detail> DetailIn(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const google::protobuf::Any& any : details.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

inline std::string ReasonIn(const grpc::Status& status) {
  return DetailIn<google::rpc::ErrorInfo>(status)
      .value_or(google::rpc::ErrorInfo())
      .reason();
}

// The field of its BadRequest; empty where there is none.
inline std::string FieldIn(const grpc::Status& status) {
  const auto refused = DetailIn<google::rpc::BadRequest>(status);
  if (!refused.has_value() || refused->field_violations_size() != 1) return "";
  return refused->field_violations(0).field();
}

// The exact code, the reason of its ErrorInfo, and a matcher for the message.
MATCHER_P3(GrpcStatusIs, code, reason, message, "has the code, reason and message") {
  *result_listener << arg.error_code() << " " << ReasonIn(arg) << " "
                   << arg.error_message();
  return arg.error_code() == code && ReasonIn(arg) == reason &&
         ::testing::ExplainMatchResult(message, arg.error_message(), result_listener);
}

MATCHER(IsGrpcOk, "is OK") {
  *result_listener << arg.error_code() << " " << arg.error_message();
  return arg.ok();
}

// INVALID_ARGUMENT with this field in message and BadRequest.
MATCHER_P(RefusesField, field, "refuses the field") {
  *result_listener << arg.error_code() << " '" << FieldIn(arg) << "' "
                   << arg.error_message();
  return arg.error_code() == grpc::StatusCode::INVALID_ARGUMENT &&
         FieldIn(arg) == field &&
         arg.error_message().rfind(std::string(field) + ": ", 0) == 0;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SERVICE_STATUS_DETAILS_H_
