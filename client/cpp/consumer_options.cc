#include <chrono>

#include "absl/strings/str_cat.h"
#include "client/cpp/backoff.h"
#include "client/cpp/consumer.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"

namespace evenpack::client {
namespace {

constexpr uint32_t kMaxSteps = 2147483647;

}  // namespace

absl::Status Validate(const ConsumerOptions& options) {
  if (options.job.empty()) return InvalidField("job", "''", "the name of a job");
  if (options.subscriber.size() > kMaxSubscriberBytes) {
    return InvalidField("subscriber", absl::StrCat(options.subscriber.size(), " bytes"),
                        absl::StrCat("at most ", kMaxSubscriberBytes, " bytes"));
  }
  if (options.last_digest.has_value() && !options.from_step.has_value()) {
    return InvalidField("last_digest", "a digest without from_step",
                        "one together with from_step");
  }
  if (options.last_epoch.has_value() && !options.from_step.has_value()) {
    return InvalidField("last_epoch", "an epoch without from_step",
                        "one together with from_step");
  }
  if (options.max_buffered_bytes == 0) {
    return InvalidField("max_buffered_bytes", 0, "1 or more");
  }
  absl::Status status = CheckWait("report_interval", options.report_interval,
                                  std::chrono::milliseconds(0), kLongestWait);
  status.Update(CheckRange("credits", options.credits, 1, kMaxCredits));
  status.Update(
      CheckRange("max_buffered_steps", options.max_buffered_steps, 1, kMaxSteps));
  return status;
}

}  // namespace evenpack::client
