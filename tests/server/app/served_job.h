// Jobs of a server under test, over its port.
#ifndef EVENPACK_TESTS_SERVER_APP_SERVED_JOB_H_
#define EVENPACK_TESTS_SERVER_APP_SERVED_JOB_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "tests/server/service/service_spec.h"

namespace evenpack::testing {

inline std::unique_ptr<v1::PackingService::Stub> StubAt(const std::string& address) {
  return v1::PackingService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

// A job of ServiceSpec().
inline grpc::Status CreateJobAt(v1::PackingService::Stub& stub,
                                const std::string& name) {
  grpc::ClientContext context;
  v1::CreateJobRequest request;
  request.set_name(name);
  *request.mutable_spec() = ServiceSpec();
  v1::CreateJobResponse response;
  return stub.CreateJob(&context, request, &response);
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_APP_SERVED_JOB_H_
