// Calls of services whose messages this project has no C++ of: bytes in, bytes out.
#ifndef EVENPACK_TESTS_SERVER_APP_RAW_GRPC_CLIENT_H_
#define EVENPACK_TESTS_SERVER_APP_RAW_GRPC_CLIENT_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

namespace evenpack::testing {

// One call, of any kind, that sends one message.
class RawGrpcCall {
 public:
  // `method` as "/package.Service/Method".
  RawGrpcCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              const std::string& request);
  ~RawGrpcCall();

  // None once the call has ended.
  std::optional<std::string> Read();
  grpc::Status Finish();

 private:
  // Of the operation under way.
  bool Wait();

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_APP_RAW_GRPC_CLIENT_H_
