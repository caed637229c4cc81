// Answers a unary call by its handler.
#ifndef EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
#define EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

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

// What an answer takes until its peer has taken it: the transport keeps the message
// beside its encoding, which is a fraction of it where numbers are small.
inline uint64_t BytesHeldBy(const google::protobuf::Message& response) {
  return response.SpaceUsedLong() + response.ByteSizeLong();
}

// OK, or why the answer can't be sent: gRPC itself would not say what to change.
inline absl::Status CheckSize(const ServiceEnvironment& environment,
                              const google::protobuf::Message& response) {
  const uint64_t limit = environment.max_message_bytes;
  const uint64_t bytes = response.ByteSizeLong();
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  return AnswerTooLarge(response.GetDescriptor()->name(), bytes, limit);
}

// A call whose answer is sent, or given up, once it is done.
class AnsweredCall final : public grpc::ServerUnaryReactor {
 public:
  // What the call has until then.
  CallQuota& Hold(std::unique_ptr<CallQuota> quota) {
    quota_ = std::move(quota);
    return *quota_;
  }
  void OnDone() override { const std::unique_ptr<AnsweredCall> done(this); }

 private:
  std::unique_ptr<CallQuota> quota_;
};

// The Handle() of these messages for whoever may make the call, within the peer's
// quotas; an error counts.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Answered(const ServiceEnvironment& environment,
                                   grpc::CallbackServerContext* context,
                                   const Request& request, Response& response) {
  auto* const reactor = std::make_unique<AnsweredCall>().release();
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
  absl::StatusOr<std::unique_ptr<CallQuota>> quota =
      CallQuota::Take(environment.quotas, PeerOf(*context, caller), JobMadeBy(request));
  if (!quota.ok()) {
    finish(quota.status());
    return reactor;
  }
  CallQuota& held = reactor->Hold(*std::move(quota));
  HandleFor(environment, caller, request, response,
            [finish, &held, &environment, &response](const absl::Status& answered) {
              const absl::Status status =
                  answered.ok() ? CheckSize(environment, response) : answered;
              held.Answered(answered, status.ok() ? BytesHeldBy(response) : 0);
              finish(status);
            });
  return reactor;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
