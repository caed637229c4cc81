#include "server/service/call_quota.h"

namespace evenpack {

absl::StatusOr<std::unique_ptr<CallQuota>> CallQuota::Take(
    CallQuotas& quotas, const std::string& peer, const std::string* made_job) {
  auto taken = std::make_unique<CallQuota>(quotas, peer);
  absl::Status status = quotas.held.Take(Quota::kPeerCalls, peer, taken->place_);
  if (!status.ok()) return status;
  if (!quotas.answers.HasRoom(peer)) {
    quotas.held.CountRefusal(Quota::kPeerCalls);
    return QuotaExceeded(Quota::kPeerCalls, quotas.answers.limit(), peer,
                         "calls' answers, counted by 256 KiB, to take");
  }
  if (made_job != nullptr && !quotas.makers.Begin(peer)) {
    quotas.held.CountRefusal(Quota::kPeerJobs);
    return QuotaExceeded(Quota::kPeerJobs, quotas.makers.limit(), peer);
  }
  if (made_job != nullptr) taken->made_job_ = *made_job;
  return taken;
}

CallQuota::~CallQuota() {
  if (answer_bytes_.has_value()) quotas_.answers.Remove(peer_, *answer_bytes_);
}

void CallQuota::Answered(const absl::Status& status, uint64_t bytes) {
  if (made_job_.has_value()) quotas_.makers.End(peer_, *made_job_, status.ok());
  // In this order, so that it is never without either.
  quotas_.answers.Add(peer_, bytes);
  answer_bytes_ = bytes;
  place_.GiveBack();
}

}  // namespace evenpack
