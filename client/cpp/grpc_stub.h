// The stub over gRPC.
#ifndef EVENPACK_CLIENT_CPP_GRPC_STUB_H_
#define EVENPACK_CLIENT_CPP_GRPC_STUB_H_

#include <memory>

#include "client/cpp/client_options.h"
#include "client/cpp/stub.h"

namespace grpc {
class Channel;
}

namespace evenpack::client {

// To options.address, which is one, with options.security; connects when first used.
// `options` are valid. The channel's own retries are off: Connection has them.
std::shared_ptr<grpc::Channel> MakeGrpcChannel(const ClientOptions& options);

std::shared_ptr<Stub> MakeGrpcStub(const std::shared_ptr<grpc::Channel>& channel);
// Over channels of its own, to the addresses of the options and to those that servers
// name (routed_stub.h).
std::shared_ptr<Stub> MakeGrpcStub(const ClientOptions& options);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GRPC_STUB_H_
