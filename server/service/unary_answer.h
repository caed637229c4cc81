// Answers a unary call by its handler.
#ifndef EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
#define EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/service/admission.h"
#include "server/service/peer.h"
#include "server/service/service_environment.h"
#include "server/service/status_conversion.h"

namespace evenpack {

// The name of the job that a call makes; null for all that make none.
template <typename Request>
const std::string* JobMadeBy(const Request&) {
  return nullptr;
}
inline const std::string* JobMadeBy(const v1::CreateJobRequest& request) {
  return &request.name();
}
inline const std::string* JobMadeBy(const v1::RestoreJobRequest& request) {
  return &request.name();
}
inline const std::string* JobMadeBy(const v1::ForkJobRequest& request) {
  return &request.new_name();
}

// The Handle() of these messages for whoever may make the call, within the peer's
// quotas; an error counts.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Answered(const ServiceEnvironment& environment,
                                   grpc::CallbackServerContext* context,
                                   const Request& request, Response& response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto finish = [reactor,
                       &errors = environment.errors](const absl::Status& status) {
    errors.Count(status);
    reactor->Finish(ToGrpc(status));
  };
  const Caller caller = CallerOf(environment, *context);
  absl::Status admitted = Admit(environment, caller, request);
  if (!admitted.ok()) {
    finish(admitted);
    return reactor;
  }
  const absl::StatusOr<std::shared_ptr<CallQuota>> quota =
      CallQuota::Take(environment.quotas, PeerOf(*context, caller), JobMadeBy(request));
  if (!quota.ok()) {
    finish(quota.status());
    return reactor;
  }
  HandleFor(environment, caller, request, response,
            [finish, quota = *quota](const absl::Status& status) {
              quota->Answered(status);
              finish(status);
            });
  return reactor;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
