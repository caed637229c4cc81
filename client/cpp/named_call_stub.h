// A Stub over a transport that makes a call by its name: unary calls are one method.
#ifndef EVENPACK_CLIENT_CPP_NAMED_CALL_STUB_H_
#define EVENPACK_CLIENT_CPP_NAMED_CALL_STUB_H_

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/stub.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {

// Thread-safe, as far as Call() is.
class NamedCallStub : public Stub {
 public:
#define EVENPACK_UNARY(METHOD, SERVICE)                                              \
  absl::StatusOr<v1::METHOD##Response> METHOD(const v1::METHOD##Request& request,    \
                                              const CallOptions& options) override { \
    v1::METHOD##Response answer;                                                     \
    absl::Status status =                                                            \
        Call("/evenpack.v1." SERVICE "/" #METHOD, request, options, answer);         \
    if (!status.ok()) return status;                                                 \
    return answer;                                                                   \
  }
  EVENPACK_UNARY(CreateJob, "PackingService")
  EVENPACK_UNARY(GetJob, "PackingService")
  EVENPACK_UNARY(ListJobs, "PackingService")
  EVENPACK_UNARY(UpdateJob, "PackingService")
  EVENPACK_UNARY(DeleteJob, "PackingService")
  EVENPACK_UNARY(CheckpointJob, "PackingService")
  EVENPACK_UNARY(RestoreJob, "PackingService")
  EVENPACK_UNARY(RewindJob, "PackingService")
  EVENPACK_UNARY(ForkJob, "PackingService")
  EVENPACK_UNARY(SkipDocuments, "PackingService")
  EVENPACK_UNARY(GetStep, "PackingService")
  EVENPACK_UNARY(Acknowledge, "PackingService")
  EVENPACK_UNARY(ReportLatency, "PackingService")
  EVENPACK_UNARY(GetLatency, "PackingService")
  EVENPACK_UNARY(ObserveJob, "PackingService")
  EVENPACK_UNARY(ObserveMicroBatch, "PackingService")
  EVENPACK_UNARY(PutCostProfile, "CostProfileService")
  EVENPACK_UNARY(GetCostProfile, "CostProfileService")
  EVENPACK_UNARY(ListCostProfiles, "CostProfileService")
  EVENPACK_UNARY(DeleteCostProfile, "CostProfileService")
#undef EVENPACK_UNARY

 private:
  // `path`: "/package.Service/Method". DATA_LOSS: what the server answers is no such
  // message.
  virtual absl::Status Call(const char* path, const google::protobuf::Message& request,
                            const CallOptions& options,
                            google::protobuf::Message& answer) = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_NAMED_CALL_STUB_H_
