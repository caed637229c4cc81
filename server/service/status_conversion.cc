#include "server/service/status_conversion.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/error_details.h>
#include <grpcpp/support/status.h>

#include <string>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

constexpr char kDomain[] = "evenpack";
// Long enough for a store or a new leader to come back, short enough not to be noticed.
constexpr int kRetryMilliseconds = 500;

std::string Text(absl::string_view text) { return std::string(text); }

// The messages of this project are "FIELD: what is wrong with it".
std::string FieldOf(const absl::Status& status) {
  std::string field = RefusedField(status);
  if (!field.empty()) return field;
  const std::string message = Text(status.message());
  const size_t colon = message.find(": ");
  return colon == std::string::npos || message.find(' ') < colon
             ? ""
             : message.substr(0, colon);
}

void AddErrorInfo(const absl::Status& status, google::rpc::Status& to) {
  const StatusDetail detail = DetailOf(status);
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(detail.reason.empty() ? absl::StatusCodeToString(status.code())
                                        : detail.reason);
  info.mutable_metadata()->insert(detail.values.begin(), detail.values.end());
  to.add_details()->PackFrom(info);
}

void AddBadRequest(const absl::Status& status, google::rpc::Status& to) {
  const std::string field = FieldOf(status);
  if (field.empty()) return;
  google::rpc::BadRequest refused;
  auto* violation = refused.add_field_violations();
  violation->set_field(field);
  violation->set_description(Text(status.message()));
  to.add_details()->PackFrom(refused);
}

void AddRetryInfo(google::rpc::Status& to) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(kRetryMilliseconds * 1'000'000);
  to.add_details()->PackFrom(retry);
}

void AddQuotaFailure(const absl::Status& status, google::rpc::Status& to) {
  google::rpc::QuotaFailure failure;
  auto* violation = failure.add_violations();
  violation->set_subject(FieldOf(status));
  violation->set_description(Text(status.message()));
  to.add_details()->PackFrom(failure);
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status to;
  to.set_code(static_cast<int>(status.code()));
  to.set_message(Text(status.message()));
  AddErrorInfo(status, to);
  if (absl::IsInvalidArgument(status)) AddBadRequest(status, to);
  if (absl::IsUnavailable(status) || DetailOf(status).reason == kStoreFull) {
    AddRetryInfo(to);
  }
  if (absl::IsResourceExhausted(status)) AddQuotaFailure(status, to);
  return to;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  grpc::Status converted;
  grpc::SetErrorDetails(ToRpcStatus(status), &converted);
  return converted;
}

}  // namespace evenpack
