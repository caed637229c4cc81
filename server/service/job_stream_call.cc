#include "server/service/job_stream_call.h"

#include <utility>

#include "server/service/status_conversion.h"
#include "server/service/where_led.h"

namespace evenpack {

void JobStreamCall::Drain() {
  const auto self = shared_from_this();
  End(Draining());
}

void JobStreamCall::RolesChanged() {
  const auto self = shared_from_this();
  if (absl::Status status = admission_.Recheck(); !status.ok()) End(std::move(status));
}

void JobStreamCall::FinishWith(const absl::Status& status) {
  EndWhereLed(environment_, status, [this](const absl::Status& end) {
    environment_.errors.Count(end);
    Finish(ToGrpc(end));
  });
}

void JobStreamCall::Left() {
  admission_.GiveBack();
  if (job_ != nullptr) LeaveJob();
}

absl::StatusOr<std::shared_ptr<Job>> JobStreamCall::FindJob(const std::string& name) {
  absl::Status admitted = admission_.Name(name);
  if (!admitted.ok()) return admitted;
  return environment_.jobs.Find(name);
}

bool JobStreamCall::Fits(const std::string& message) {
  const uint64_t limit = environment_.max_message_bytes;
  if (limit == 0 || response_.Length() <= limit) return true;
  ending_ = AnswerTooLarge(message, response_.Length(), limit);
  return false;
}

}  // namespace evenpack
