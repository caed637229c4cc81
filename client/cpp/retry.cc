#include "client/cpp/retry.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/error_details.h"
#include "client/cpp/route.h"

namespace evenpack::client {
namespace {

// A stream can end with OK that should not have ended.
absl::Status ErrorOf(const absl::Status& status) {
  return status.ok() ? absl::UnavailableError("the server ended the call") : status;
}

}  // namespace

bool IsRetryable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return true;
    case absl::StatusCode::kResourceExhausted:
      return DetailsOf(status).retry_delay.has_value();
    case absl::StatusCode::kDeadlineExceeded:
      return DetailsOf(status).reason.empty();
    default:
      return false;
  }
}

bool IsLostCall(const absl::Status& status) {
  if (IsRetryable(status)) return true;
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return DetailsOf(status).reason.empty();
    default:
      return false;
  }
}

std::chrono::nanoseconds RequestedDelay(const absl::Status& status) {
  return DetailsOf(status).retry_delay.value_or(std::chrono::nanoseconds::zero());
}

absl::Status Annotated(const absl::Status& status, const std::string& text) {
  absl::Status annotated(status.code(), absl::StrCat(status.message(), text));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& value) {
    annotated.SetPayload(url, value);
  });
  return annotated;
}

bool WaitToRetry(const absl::Status& status, Backoff& backoff, Sleeper& sleeper,
                 const std::stop_token& stop) {
  const bool is_first = backoff.failures() == 0;
  const std::optional<std::chrono::nanoseconds> delay =
      backoff.NextDelay(RequestedDelay(status));
  if (!delay.has_value()) return false;
  if (is_first && IsRedirect(status)) return !stop.stop_requested();
  backoff.Tell(ErrorOf(status));
  return sleeper.Sleep(*delay, stop);
}

absl::Status GaveUp(const absl::Status& status, const Backoff& backoff) {
  absl::Status error = ErrorOf(status);
  if (backoff.failures() < 2) return error;
  return Annotated(error,
                   absl::StrCat(" (gave up after ", backoff.failures(), " attempts)"));
}

}  // namespace evenpack::client
