// The servers behind an agent.
#ifndef EVENPACK_CLIENT_AGENT_UPSTREAM_H_
#define EVENPACK_CLIENT_AGENT_UPSTREAM_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "client/cpp/client_options.h"
#include "client/cpp/leader_map.h"
#include "client/cpp/per_server.h"
#include "client/cpp/stub.h"

namespace evenpack::agent {

// A channel, and both kinds of calls over it.
struct UpstreamServer {
  explicit UpstreamServer(std::shared_ptr<grpc::Channel> made);

  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub forwarded;
  const std::shared_ptr<client::Stub> own;
};

// Thread-safe.
class Upstream {
 public:
  // `options` are valid.
  explicit Upstream(const client::ClientOptions& options);
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  // For the agent's own calls: routed_stub.h, with leaders() and the channels of At().
  const std::shared_ptr<client::Stub>& stub() const { return stub_; }
  client::LeaderMap& leaders() { return *leaders_; }
  std::shared_ptr<UpstreamServer> At(const std::string& address);

 private:
  using Servers = client::PerServer<UpstreamServer>;

  const std::shared_ptr<client::LeaderMap> leaders_;
  const std::shared_ptr<Servers> servers_;
  const std::shared_ptr<client::Stub> stub_;
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_UPSTREAM_H_
