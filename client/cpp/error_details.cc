#include "client/cpp/error_details.h"

#include <google/rpc/error_details.pb.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/backoff.h"

namespace evenpack::client {
namespace {

constexpr absl::string_view kTypePrefix = "type.googleapis.com/";

template <typename Message>
std::string TypeUrl() {
  return absl::StrCat(kTypePrefix, Message::descriptor()->full_name());
}

// Nothing where the status has no such detail, or bytes that aren't one.
template <typename Message>
std::optional<Message> Get(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(TypeUrl<Message>());
  Message message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return message;
}

template <typename Message>
void Set(absl::Status& status, const Message& message) {
  status.SetPayload(TypeUrl<Message>(), absl::Cord(message.SerializeAsString()));
}

}  // namespace

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails details;
  if (const auto info = Get<google::rpc::ErrorInfo>(status)) {
    details.reason = info->reason();
    details.domain = info->domain();
    details.metadata.insert(info->metadata().begin(), info->metadata().end());
  }
  if (const auto request = Get<google::rpc::BadRequest>(status)) {
    for (const auto& violation : request->field_violations()) {
      details.field_violations.push_back({violation.field(), violation.description()});
    }
  }
  if (const auto quota = Get<google::rpc::QuotaFailure>(status)) {
    for (const auto& violation : quota->violations()) {
      details.quota_violations.push_back(
          {violation.subject(), violation.description()});
    }
  }
  if (const auto retry = Get<google::rpc::RetryInfo>(status)) {
    const auto wait = std::clamp<std::chrono::seconds>(
        std::chrono::seconds(retry->retry_delay().seconds()), std::chrono::seconds(0),
        std::chrono::floor<std::chrono::seconds>(kLongestWait));
    details.retry_delay = wait + std::chrono::nanoseconds(retry->retry_delay().nanos());
  }
  return details;
}

absl::Status WithDetails(absl::Status status, const ErrorDetails& details) {
  if (!details.reason.empty() || !details.domain.empty() || !details.metadata.empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason(details.reason);
    info.set_domain(details.domain);
    for (const auto& [name, value] : details.metadata) {
      (*info.mutable_metadata())[name] = value;
    }
    Set(status, info);
  }
  if (!details.field_violations.empty()) {
    google::rpc::BadRequest request;
    for (const FieldViolation& violation : details.field_violations) {
      auto* field = request.add_field_violations();
      field->set_field(violation.field);
      field->set_description(violation.description);
    }
    Set(status, request);
  }
  if (!details.quota_violations.empty()) {
    google::rpc::QuotaFailure quota;
    for (const QuotaViolation& violation : details.quota_violations) {
      auto* bound = quota.add_violations();
      bound->set_subject(violation.subject);
      bound->set_description(violation.description);
    }
    Set(status, quota);
  }
  if (details.retry_delay.has_value()) {
    google::rpc::RetryInfo retry;
    constexpr int64_t kNanosPerSecond = 1'000'000'000;
    retry.mutable_retry_delay()->set_seconds(details.retry_delay->count() /
                                             kNanosPerSecond);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(details.retry_delay->count() % kNanosPerSecond));
    Set(status, retry);
  }
  return status;
}

}  // namespace evenpack::client
