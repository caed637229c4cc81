// What every call passes before anything else of it is looked at: the roles that the
// server was given (server/access). Without any, everyone may do everything. A
// stream takes its places in the quotas here too; other calls do by call_quota.h.
#ifndef EVENPACK_SERVER_SERVICE_ADMISSION_H_
#define EVENPACK_SERVER_SERVICE_ADMISSION_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/access/decision.h"
#include "server/runtime/mutex.h"
#include "server/service/job_answer.h"
#include "server/service/job_calls.h"
#include "server/service/quota.h"
#include "server/service/service_environment.h"
#include "server/service/where_led.h"

namespace grpc {
class ServerContextBase;
}

namespace evenpack {

// The certificate of a call's connection, and the token that came with the call. Empty
// where the server has no roles, which nobody would compare them with.
Caller CallerOf(const ServiceEnvironment& environment,
                const grpc::ServerContextBase& context);
// Of a call or request by its fields Authorization. Of several none counts, since they
// would leave open which is meant: they are no token. One that is empty isn't there.
Caller CallerOf(std::span<const std::string_view> authorizations);

// Whether the caller may make a call that is no stream. Its method and the jobs that it
// names follow from the request (method_rules.h).
absl::Status Admit(const ServiceEnvironment& environment, const Caller& caller,
                   const google::protobuf::Message& request);
// The jobs that may be shown to the caller.
JobFilter JobsSeenBy(const ServiceEnvironment& environment, const Caller& caller);

// HandleWhereLed() for a caller whom Admit() let make the call.
template <typename Request, typename Response>
void HandleFor(const ServiceEnvironment& environment, const Caller& caller,
               const Request& request, Response& response, const Answer& answer) {
  if constexpr (std::is_same_v<Request, v1::ListJobsRequest>) {
    Handle(environment, request, response, JobsSeenBy(environment, caller), answer);
  } else {
    HandleWhereLed(environment, request, response, answer);
  }
}

// Admit() and HandleFor().
template <typename Request, typename Response>
void HandleAdmitted(const ServiceEnvironment& environment, const Caller& caller,
                    const Request& request, Response& response, const Answer& answer) {
  if (absl::Status status = Admit(environment, caller, request); !status.ok()) {
    return answer(status);
  }
  HandleFor(environment, caller, request, response, answer);
}

// A streaming method, and what counts its calls.
struct StreamKind {
  std::string_view method;
  Quota of_peer;
  Quota of_job;
};
inline constexpr StreamKind kIngestStream = {"Ingest", Quota::kPeerIngestStreams,
                                             Quota::kJobIngestStreams};
inline constexpr StreamKind kStepStream = {"StreamSteps", Quota::kPeerStepStreams,
                                           Quota::kJobStepStreams};
inline constexpr StreamKind kGroupStream = {"JoinGroup", Quota::kPeerGroupStreams,
                                            Quota::kJobGroupStreams};

// The admission of one stream, which goes on for as long as its role does, and its
// places in the quotas. Recheck may be called by any thread, the others by one at a
// time.
class StreamAdmission {
 public:
  StreamAdmission(const ServiceEnvironment& environment,
                  const grpc::ServerContextBase& context, const StreamKind& kind);

  // Before its first message: the roles, then the peer's quota.
  absl::Status Open();
  // Once that has named the job: the roles.
  absl::Status Name(const std::string& job);
  // Once the job was found: its quota.
  absl::Status Hold(const std::string& job);
  // When the call is done: its places in the quotas.
  void GiveBack();
  // Again, by the roles that hold now; OK where nothing is named yet. What Name was
  // given is seen by a Recheck that comes after the roles changed, or else Name decides
  // by the new ones.
  absl::Status Recheck();

 private:
  AccessControl* const access_;
  Quotas& quotas_;
  const Caller caller_;
  const std::string peer_;
  const StreamKind kind_;
  QuotaPlace peer_place_;
  QuotaPlace job_place_;
  Mutex mutex_;
  std::optional<std::string> job_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_ADMISSION_H_
