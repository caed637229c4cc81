// The plan agent of a node: the service of the server, on a port of the node's own.
#ifndef EVENPACK_CLIENT_AGENT_PLAN_AGENT_H_
#define EVENPACK_CLIENT_AGENT_PLAN_AGENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/agent/step_feeds.h"

namespace evenpack::agent {

struct PlanAgentOptions {
  // The packing server, or several, as ClientOptions.address.
  std::string server;
  // How it is reached, and who the agent is to it, also for the calls that it passes
  // on.
  client::Security security = {};
  // HOST:PORT, of which port 0 is any that is free, or unix:PATH, where a file that an
  // agent which is gone has left is replaced.
  std::string listen;
  // Whoever reaches the agent may use it: `listen` may be a port that other machines
  // reach, and everyone on this one may open a socket. Otherwise that is refused, and a
  // socket is for the agent's user and group.
  bool insecure = false;
  // HOST:PORT of /metrics, /healthz and /readyz; empty: none.
  std::string http_listen = {};
  // Names the agent at the server, at most 256 bytes: two of the same name would end
  // each other's subscriptions.
  std::string name = "agent";
  std::string version = {};
  StepFeedsOptions steps;
};

// StreamSteps is answered from subscriptions that local ones share (step_fan.h); every
// other call, of whatever service, is passed on, to the server that leads its job.
// Clients need not reach any server: they are told of none.
class PlanAgent {
 public:
  // Serves when it returns, whether the server is there or not. Errors name the flag.
  static absl::StatusOr<std::unique_ptr<PlanAgent>> Start(
      const PlanAgentOptions& options);
  ~PlanAgent();
  PlanAgent(const PlanAgent&) = delete;
  PlanAgent& operator=(const PlanAgent&) = delete;

  // HOST:PORT or unix:PATH that it listens on.
  const std::string& grpc_address() const;
  // Empty without an HTTP port.
  const std::string& http_address() const;

  // NOT_SERVING; calls end with UNAVAILABLE; then the ports close. Takes two seconds at
  // most, but for a client that hangs: false then, where destruction waits for it and
  // the end of the process need not. Once.
  bool Drain();

 private:
  class Rooms;
  explicit PlanAgent(std::unique_ptr<Rooms> rooms);

  const std::unique_ptr<Rooms> rooms_;
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_PLAN_AGENT_H_
