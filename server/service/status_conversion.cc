#include "server/service/status_conversion.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/error_details.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

constexpr char kDomain[] = "evenpack";
// Long enough for a store or a new leader to come back, short enough not to be noticed.
constexpr int kRetryMilliseconds = 500;
// As long as a new leader of a job takes to read it, or a lease that ended to be seen.
constexpr int kLeaderMilliseconds = 200;
// Bytes of a text, and of a value. A client drops all that an error says where that is
// more than 8 KiB, and the text is in it three times, once with each byte as three.
constexpr size_t kMostText = 640;
constexpr size_t kMostValue = 256;

std::string Text(absl::string_view text) { return std::string(text); }

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}

// Without its middle where it is longer: values are there, and behind them what would
// be accepted.
std::string Shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t head = most / 2;
  size_t tail = text.size() - most / 4;
  while (head > 0 && !BeginsCharacter(text[head])) --head;
  while (tail < text.size() && !BeginsCharacter(text[tail])) ++tail;
  return absl::StrCat(text.substr(0, head), "[", tail - head, " bytes left out]",
                      text.substr(tail));
}

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

std::string ShownText(const absl::Status& status) {
  return Shortened(Text(status.message()), kMostText);
}

void AddErrorInfo(const absl::Status& status, google::rpc::Status& to) {
  const StatusDetail detail = DetailOf(status);
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(detail.reason.empty() ? absl::StatusCodeToString(status.code())
                                        : detail.reason);
  for (const auto& [name, value] : detail.values) {
    info.mutable_metadata()->insert({name, Shortened(value, kMostValue)});
  }
  to.add_details()->PackFrom(info);
}

void AddBadRequest(const absl::Status& status, google::rpc::Status& to) {
  const std::string field = FieldOf(status);
  if (field.empty()) return;
  google::rpc::BadRequest refused;
  auto* violation = refused.add_field_violations();
  violation->set_field(field);
  violation->set_description(ShownText(status));
  to.add_details()->PackFrom(refused);
}

void AddRetryInfo(int milliseconds, google::rpc::Status& to) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(milliseconds * 1'000'000);
  to.add_details()->PackFrom(retry);
}

void AddQuotaFailure(const absl::Status& status, google::rpc::Status& to) {
  google::rpc::QuotaFailure failure;
  auto* violation = failure.add_violations();
  violation->set_subject(FieldOf(status));
  violation->set_description(ShownText(status));
  to.add_details()->PackFrom(failure);
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status to;
  to.set_code(static_cast<int>(status.code()));
  to.set_message(ShownText(status));
  AddErrorInfo(status, to);
  if (absl::IsInvalidArgument(status)) AddBadRequest(status, to);
  const std::string reason = DetailOf(status).reason;
  if (reason == kNoLeader) {
    AddRetryInfo(kLeaderMilliseconds, to);
  } else if ((absl::IsUnavailable(status) && reason != kLedElsewhere) ||
             reason == kStoreFull) {
    AddRetryInfo(kRetryMilliseconds, to);
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
