// Answers a unary call by its handler.
#ifndef EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
#define EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "server/service/service_environment.h"
#include "server/service/status_conversion.h"

namespace evenpack {

// The Handle() of these messages; an error counts.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Answered(const ServiceEnvironment& environment,
                                   grpc::CallbackServerContext* context,
                                   const Request& request, Response& response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Handle(environment, request, response,
         [reactor, &errors = environment.errors](const absl::Status& status) {
           errors.Count(status);
           reactor->Finish(ToGrpc(status));
         });
  return reactor;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_UNARY_ANSWER_H_
