// A port for whoever asks nothing but whether the server serves.
#ifndef EVENPACK_SERVER_APP_HEALTH_PORT_H_
#define EVENPACK_SERVER_APP_HEALTH_PORT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/app/grpc_port.h"
#include "server/app/transport_threads.h"

namespace evenpack {

// grpc.health.v1.Health on a gRPC server of its own, without TLS whatever the main port
// has: a kubelet's gRPC probe has no certificates. Start once; then SetServing from any
// thread, until Close.
class HealthPort {
 public:
  // gRPC puts on it what its plugins were when this was made: before channelz is asked
  // for, so that the connections of the main port can't be read here.
  HealthPort();
  // Closes it.
  ~HealthPort() { Close(); }
  HealthPort(const HealthPort&) = delete;
  HealthPort& operator=(const HealthPort&) = delete;

  // `listen`: HOST:PORT; port 0 takes any that is free. Errors name health-listen.
  absl::Status Start(const std::string& listen);
  // HOST:PORT that it listens on; empty before Start.
  const std::string& address() const { return address_; }

  // Of a service; "" is the whole server. Nothing where the port was not started.
  void SetServing(const std::string& service, bool serving);

  // Ends calls and listens no more; returns when connections are closed. A peer that
  // hangs holds it up. Nothing where the port was not started, or is closed.
  void Close();

 private:
  std::unique_ptr<grpc::ServerBuilder> builder_;
  std::unique_ptr<GrpcPort> port_;
  TransportThreads threads_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_HEALTH_PORT_H_
