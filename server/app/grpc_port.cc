#include "server/app/grpc_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/app/call_counting.h"
#include "server/app/connection_bytes.h"
#include "server/metrics/process_figures.h"
#include "server/runtime/clock.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

// Between two tries where the gate was shut.
constexpr std::chrono::milliseconds kWhileShut{5};
constexpr std::chrono::seconds kBetweenLines{10};
// Bytes of a connection between two looks, or unclaimed.
constexpr uint64_t kMuch = 1 << 20;

// Of a peer as gRPC names it, which writes brackets as %5B and %5D.
std::string NameOf(const std::string& peer) {
  return absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
}

// The peer's name, empty where the socket has none any more.
std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return absl::StrCat("ipv4:", text, ":", ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return "";
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
    return absl::StrCat("ipv4:", text, ":", ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
  // Of a link-local address, which each link may have.
  const std::string zone =
      v6.sin6_scope_id == 0 ? "" : absl::StrCat("%25", v6.sin6_scope_id);
  return absl::StrCat("ipv6:[", text, zone, "]:", ntohs(v6.sin6_port));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcPort>> GrpcPort::Open(
    const ListenAddress& wanted, const GrpcPortOptions& options) {
  absl::StatusOr<std::vector<Listener>> listeners = Listener::OpenAll(wanted);
  if (!listeners.ok()) return listeners.status();
  absl::StatusOr<DepartedPeers> departed = DepartedPeers::Create();
  if (!departed.ok()) return departed.status();
  std::unique_ptr<GrpcPort> port(
      new GrpcPort(*std::move(listeners), *std::move(departed), options));
  absl::StatusOr<std::unique_ptr<AcceptLoop>> loop = AcceptLoop::Create(
      {.take = [&port = *port](
                   FileDescriptor connection) { port.Take(std::move(connection)); },
       .pause = [&port = *port] { return port.Pause(); },
       .reserved_descriptors = options.reserved_descriptors});
  if (!loop.ok()) return loop.status();
  port->loop_ = *std::move(loop);
  return port;
}

GrpcPort::GrpcPort(std::vector<Listener> listeners, DepartedPeers departed,
                   const GrpcPortOptions& options)
    : options_(options),
      listeners_(std::move(listeners)),
      flood_guard_(Clock::Steady(),
                   [this](const std::string& peer) {
                     Cut(peer, "it cancels calls faster than is of use");
                   }),
      gate_(options.gate),
      departed_(std::move(departed)),
      waits_(Clock::Steady(), {.lines = 1, .in = kBetweenLines}) {}

GrpcPort::~GrpcPort() { Stop(); }

void GrpcPort::AddTo(grpc::ServerBuilder& builder,
                     std::shared_ptr<grpc::ServerCredentials> credentials) {
  hand_over_.emplace(builder, std::move(credentials), options_.peer_timeout);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(flood_guard_.Interceptors());
  interceptors.push_back(
      CountCalls([this](const std::string& peer) { return CallsOf(peer); }));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
}

void GrpcPort::Start() {
  pace_.emplace(Clock::Steady().Now(), ResidentBytes().value_or(0), options_.look);
  looks_.emplace(options_.look.interval(), [this] { LookIfDue(); });
  std::vector<int> listening;
  listening.reserve(listeners_.size());
  for (const Listener& listener : listeners_) listening.push_back(listener.fd());
  loop_->Start(std::move(listening));
}

void GrpcPort::Stop() {
  if (listeners_.empty()) return;
  // A peer that is being read in that thread may have to be cut for it.
  if (loop_ != nullptr) loop_->Stop();
  looks_.reset();
  listeners_.clear();
}

void GrpcPort::LookIfDue() {
  const Look look = pace_->Next(Clock::Steady().Now(), ResidentBytes().value_or(0));
  if (look != Look::kNone) LookAtConnections(look == Look::kAll);
}

std::chrono::milliseconds GrpcPort::Pause() {
  const int64_t held = departed_.Held();
  if (gate_.IsOpen(Clock::Steady().Now(), held)) return {};
  if (waits_.Take("").has_value()) {
    Log(LogLevel::kWarning, "connections wait",
        {{"because", "peers left faster than their calls are taken down"},
         {"calls", std::to_string(held)}});
  }
  return kWhileShut;
}

void GrpcPort::Take(FileDescriptor connection) {
  departed_.Watch(connection.get(), Remember(connection.get()));
  hand_over_->Take(std::move(connection));
}

std::shared_ptr<CallCounts> GrpcPort::Remember(int fd) {
  const std::string peer = PeerOf(fd);
  auto calls = std::make_shared<CallCounts>();
  MutexLock lock(mutex_);
  std::string& held = peers_[fd];
  const auto before = connections_.find(held);
  // A peer's port may come again too, under another number.
  if (before != connections_.end() && before->second.fd == fd) {
    connections_.erase(before);
  }
  held = peer;
  connections_.insert_or_assign(
      peer, Connection{fd, calls, UnclaimedBytes(Clock::Steady().Now())});
  return calls;
}

void GrpcPort::Cut(const std::string& peer, const char* because) {
  const std::string name = NameOf(peer);
  MutexLock lock(mutex_);
  const auto found = connections_.find(name);
  if (found == connections_.end()) return;
  // gRPC closes the sockets, and numbers come again.
  if (PeerOf(found->second.fd) == name) {
    shutdown(found->second.fd, SHUT_RDWR);
    Log(LogLevel::kWarning, "connection cut", {{"because", because}, {"peer", name}});
  }
  Forget(name);
}

void GrpcPort::Forget(const std::string& peer) {
  const auto found = connections_.find(peer);
  peers_.erase(found->second.fd);
  connections_.erase(found);
}

std::shared_ptr<CallCounts> GrpcPort::CallsOf(const std::string& peer) {
  MutexLock lock(mutex_);
  const auto found = connections_.find(NameOf(peer));
  return found == connections_.end() ? nullptr : found->second.calls;
}

// Where there are ten thousand connections, to ask the system about all takes 16 ms.
void GrpcPort::LookAtConnections(bool all) {
  std::vector<std::pair<std::string, const char*>> to_be_cut;
  {
    const Clock::TimePoint now = Clock::Steady().Now();
    MutexLock lock(mutex_);
    std::vector<std::string> closed;
    for (auto& [peer, connection] : connections_) {
      if (!all && !connection.busy) continue;
      // In this order: a call's bytes are claimed before it ends, and after they came.
      connection.open_calls = connection.calls->open;
      const uint64_t claimed = connection.calls->claimed;
      const std::optional<ConnectionBytes> bytes = BytesOf(connection.fd);
      if (!bytes.has_value()) {
        closed.push_back(peer);
        continue;
      }
      const uint64_t before = connection.unclaimed.received();
      const uint64_t unclaimed =
          connection.unclaimed.Look(claimed, *bytes, now, options_.unclaimed);
      // Who has some megabytes may have had a call for them that has ended.
      connection.busy = bytes->received > before + kMuch || unclaimed > kMuch;
    }
    for (const std::string& peer : closed) Forget(peer);
    to_be_cut = ToBeCut();
  }
  for (const auto& [peer, because] : to_be_cut) Cut(peer, because);
}

std::vector<std::pair<std::string, const char*>> GrpcPort::ToBeCut() {
  std::vector<std::pair<std::string, const char*>> to_be_cut;
  std::vector<std::pair<uint64_t, std::string_view>> others;
  uint64_t together = 0;
  for (const auto& [peer, connection] : connections_) {
    if (connection.unclaimed.AreTooMany(connection.open_calls, options_.unclaimed)) {
      to_be_cut.emplace_back(peer, "it sends much and calls nothing");
    } else if (connection.unclaimed.count() > 0) {
      together += connection.unclaimed.count();
      others.emplace_back(connection.unclaimed.count(), peer);
    }
  }
  if (together <= options_.unclaimed.together) return to_be_cut;
  std::sort(others.begin(), others.end(), std::greater<>());
  for (const auto& [count, peer] : others) {
    if (together <= options_.unclaimed.together) break;
    together -= count;
    to_be_cut.emplace_back(peer,
                           "it has the most bytes without a call or a whole message");
  }
  return to_be_cut;
}

}  // namespace evenpack
