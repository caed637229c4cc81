#include "client/cpp/backoff.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {

absl::Status CheckWait(absl::string_view field, std::chrono::milliseconds value,
                       std::chrono::milliseconds least,
                       std::chrono::milliseconds most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(field, absl::StrCat(value.count(), " ms"),
                      absl::StrCat(least.count(), " to ", most.count(), " ms"));
}

absl::Status Validate(const BackoffOptions& options) {
  if (options.initial.count() < 1) {
    return InvalidField("backoff.initial", absl::StrCat(options.initial.count(), " ms"),
                        "at least 1 ms");
  }
  if (!(options.factor >= 1)) {
    return InvalidField("backoff.factor", options.factor, "at least 1");
  }
  if (options.maximum < options.initial || options.maximum > kLongestWait) {
    return InvalidField(
        "backoff.maximum", absl::StrCat(options.maximum.count(), " ms"),
        absl::StrCat("backoff.initial to ", kLongestWait.count(), " ms"));
  }
  if (!(options.jitter >= 0 && options.jitter <= 1)) {
    return InvalidField("backoff.jitter", options.jitter, "0 to 1");
  }
  return CheckWait("backoff.total", options.total, std::chrono::milliseconds(0),
                   kLongestWait);
}

Backoff::Backoff(const BackoffOptions& options, const Clock& clock,
                 const std::function<double()>& random, RetryTold told)
    : options_(options), clock_(clock), random_(random), told_(std::move(told)) {}

std::optional<std::chrono::nanoseconds> Backoff::NextDelay(
    std::chrono::nanoseconds at_least) {
  using Seconds = std::chrono::duration<double>;
  const Clock::TimePoint now = clock_.Now();
  if (failures_ == 0) {
    began_ = now;
    first_failure_ = now;
    delay_ = options_.initial;
  } else {
    delay_ = std::min<Seconds>(delay_ * options_.factor, options_.maximum);
  }
  ++failures_;
  last_failure_ = now;
  const double jitter = 1 - options_.jitter + 2 * options_.jitter * random_();
  const std::chrono::nanoseconds left = options_.total - (now - first_failure_);
  if (left <= std::chrono::nanoseconds::zero() || left < at_least) return std::nullopt;
  return std::clamp(
      std::chrono::duration_cast<std::chrono::nanoseconds>(delay_ * jitter), at_least,
      left);
}

void Backoff::Tell(const absl::Status& why) {
  if (!told_.listener) return;
  is_told_ = true;
  const auto left = options_.total - (last_failure_ - first_failure_);
  told_.listener({told_.what, why, last_failure_ - began_, left});
}

void Backoff::Succeeded() {
  if (is_told_) {
    told_.listener({told_.what, absl::OkStatus(), last_failure_ - began_, {}});
  }
  Reset();
}

void Backoff::Reset() {
  failures_ = 0;
  is_told_ = false;
}

}  // namespace evenpack::client
