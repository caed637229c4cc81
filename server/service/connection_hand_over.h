// Connections that gRPC serves and others accept (server/web/accept_loop.h).
#ifndef EVENPACK_SERVER_SERVICE_CONNECTION_HAND_OVER_H_
#define EVENPACK_SERVER_SERVICE_CONNECTION_HAND_OVER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>

#include "server/runtime/file_descriptor.h"

namespace evenpack {

// Thread-safe once it is made.
class ConnectionHandOver {
 public:
  // Before the server is built: it will take the connections. `peer_timeout`: what a
  // peer may leave unacknowledged before its connection counts as broken.
  ConnectionHandOver(grpc::ServerBuilder& builder,
                     std::shared_ptr<grpc::ServerCredentials> credentials,
                     std::chrono::milliseconds peer_timeout);

  // After that, until the server is shut down. gRPC begins to read the connection in
  // the calling thread, for as long as there is more.
  void Take(FileDescriptor connection);

 private:
  const std::chrono::milliseconds peer_timeout_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_CONNECTION_HAND_OVER_H_
