#include "client/agent/upstream.h"

#include <utility>

#include "client/cpp/grpc_stub.h"
#include "client/cpp/routed_stub.h"
#include "client/cpp/server_addresses.h"

namespace evenpack::agent {

UpstreamServer::UpstreamServer(std::shared_ptr<grpc::Channel> made)
    : channel(std::move(made)),
      forwarded(channel),
      own(client::MakeGrpcStub(channel)) {}

Upstream::Upstream(const client::ClientOptions& options)
    : leaders_(std::make_shared<client::LeaderMap>(
          *client::ServerAddresses("address", options.address))),
      servers_(std::make_shared<Servers>(leaders_->given(),
                                         [options](const std::string& address) {
                                           client::ClientOptions of = options;
                                           of.address = address;
                                           return std::make_shared<UpstreamServer>(
                                               client::MakeGrpcChannel(of));
                                         })),
      stub_(client::MakeRoutedStub(leaders_,
                                   [servers = servers_](const std::string& address) {
                                     return servers->At(address)->own;
                                   })) {}

std::shared_ptr<UpstreamServer> Upstream::At(const std::string& address) {
  return servers_->At(address);
}

}  // namespace evenpack::agent
