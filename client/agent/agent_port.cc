#include "client/agent/agent_port.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/agent/agent_address.h"
#include "server/runtime/unix_socket.h"
#include "server/service/field_path.h"
#include "server/web/listen_address.h"

namespace evenpack::agent {
namespace {

constexpr int kReaders = 4;
constexpr std::chrono::seconds kPeerTimeout{20};

absl::Status Unavailable(const std::string& listen, const absl::Status& why) {
  return absl::UnavailableError(
      absl::StrCat("listen: can't listen on ", listen, ": ", why.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AgentPort>> AgentPort::Open(const std::string& listen,
                                                           mode_t mode) {
  std::unique_ptr<AgentPort> port(new AgentPort);
  const std::string path = SocketPath(listen);
  port->address_ = listen;
  absl::Status status =
      path.empty() ? port->ListenAtHost(listen) : port->ListenAtPath(path, mode);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<AcceptLoop>> loop =
      AcceptLoop::Create({.take = [&port = *port](FileDescriptor connection) {
        auto shared = std::make_shared<FileDescriptor>(std::move(connection));
        port.readers_->Run(
            [&port, shared] { port.hand_over_->Take(std::move(*shared)); });
      }});
  if (!loop.ok()) return Unavailable(listen, loop.status());
  port->loop_ = *std::move(loop);
  return port;
}

absl::Status AgentPort::ListenAtPath(const std::string& path, mode_t mode) {
  absl::StatusOr<FileDescriptor> socket = ListenAt(path, mode);
  if (!socket.ok()) return Unavailable(address_, socket.status());
  socket_ = *std::move(socket);
  path_ = path;
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

absl::Status AgentPort::ListenAtHost(const std::string& listen) {
  const absl::StatusOr<ListenAddress> wanted = ParseListenAddress(listen);
  if (!wanted.ok()) return Renamed("listen", wanted.status());
  absl::StatusOr<std::vector<Listener>> listeners = Listener::OpenAll(*wanted);
  if (!listeners.ok()) {
    return absl::UnavailableError(Renamed("listen", listeners.status()).message());
  }
  listeners_ = *std::move(listeners);
  address_ = FormatAddress({wanted->host, listeners_.front().address().port});
  return absl::OkStatus();
}

void AgentPort::AddTo(grpc::ServerBuilder& builder) {
  hand_over_.emplace(builder, grpc::InsecureServerCredentials(), kPeerTimeout);
}

void AgentPort::Start() {
  readers_ = std::make_unique<WorkerPool>(kReaders);
  std::vector<int> listening;
  if (!path_.empty()) listening.push_back(socket_.get());
  for (const Listener& listener : listeners_) listening.push_back(listener.fd());
  loop_->Start(std::move(listening));
}

void AgentPort::Stop() {
  if (loop_ != nullptr) loop_->Stop();
  // After what was accepted is handed over.
  readers_ = nullptr;
  listeners_.clear();
  if (path_.empty()) return;
  unlink(path_.c_str());
  path_.clear();
  socket_ = FileDescriptor();
}

}  // namespace evenpack::agent
