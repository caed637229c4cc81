// Where an agent listens: accepts connections in gRPC's place, which stops for good
// when it is once refused a descriptor (docs/adr/0060).
#ifndef EVENPACK_CLIENT_AGENT_AGENT_PORT_H_
#define EVENPACK_CLIENT_AGENT_AGENT_PORT_H_

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"
#include "server/runtime/worker_pool.h"
#include "server/service/connection_hand_over.h"
#include "server/web/accept_loop.h"
#include "server/web/listener.h"

namespace evenpack::agent {

// Not thread-safe.
class AgentPort {
 public:
  // `listen`: what CheckAgentAddress accepts. `mode`: who may connect, where that is a
  // socket of the file system. UNAVAILABLE naming `listen`: it can't be had.
  static absl::StatusOr<std::unique_ptr<AgentPort>> Open(const std::string& listen,
                                                         mode_t mode);
  // Stops.
  ~AgentPort() { Stop(); }
  AgentPort(const AgentPort&) = delete;
  AgentPort& operator=(const AgentPort&) = delete;

  // As it was given, with the port that was chosen.
  const std::string& address() const { return address_; }

  // Before the server is built: it will take the connections.
  void AddTo(grpc::ServerBuilder& builder);
  // After that: accepts connections.
  void Start();
  // Accepts none any more; a socket's file is removed. Before the server shuts down.
  // May be called again.
  void Stop();

 private:
  AgentPort() = default;

  absl::Status ListenAtPath(const std::string& path, mode_t mode);
  absl::Status ListenAtHost(const std::string& listen);

  std::string address_;
  // Of a socket of the file system, whose descriptor is the other.
  std::string path_;
  FileDescriptor socket_;
  std::vector<Listener> listeners_;
  std::optional<ConnectionHandOver> hand_over_;
  // Some, so that a peer that sends without a pause doesn't keep others out.
  std::unique_ptr<WorkerPool> readers_;
  std::unique_ptr<AcceptLoop> loop_;
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_AGENT_PORT_H_
