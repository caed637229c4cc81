// What a unary call takes of its peer's quotas until its answer is sent.
#ifndef EVENPACK_SERVER_SERVICE_CALL_QUOTA_H_
#define EVENPACK_SERVER_SERVICE_CALL_QUOTA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/service/job_makers.h"
#include "server/service/quota.h"
#include "server/service/untaken_answers.h"

namespace evenpack {

// What is counted of a server. Thread-safe; outlives its calls.
struct CallQuotas {
  CallQuotas(const QuotaLimits& limits, JobMakers::Exists exists)
      : held(limits),
        makers(held.limit(Quota::kPeerJobs), std::move(exists)),
        answers(held.limit(Quota::kPeerCalls)) {}

  Quotas held;
  JobMakers makers;
  UntakenAnswers answers;
};

// Of one call, for as long as the transport has its answer.
class CallQuota {
 public:
  // `made_job`: the name of the job that the call makes, or null. QUOTA_EXCEEDED.
  static absl::StatusOr<std::unique_ptr<CallQuota>> Take(CallQuotas& quotas,
                                                         const std::string& peer,
                                                         const std::string* made_job);
  CallQuota(CallQuotas& quotas, std::string peer)
      : quotas_(quotas), peer_(std::move(peer)) {}
  ~CallQuota();
  CallQuota(const CallQuota&) = delete;
  CallQuota& operator=(const CallQuota&) = delete;

  // Gives all back, once, before the peer can know the answer, which counts by its
  // bytes from now on.
  void Answered(const absl::Status& status, uint64_t bytes);

 private:
  CallQuotas& quotas_;
  const std::string peer_;
  QuotaPlace place_;
  std::optional<std::string> made_job_;
  std::optional<uint64_t> answer_bytes_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_CALL_QUOTA_H_
