#include "server/app/grpc_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/app/connection_bytes.h"
#include "server/metrics/process_figures.h"
#include "server/runtime/clock.h"
#include "server/runtime/hung_up.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

// Connections of a listener that are taken before the others have their turn.
constexpr int kAtOnce = 16;
// Between two tries where the system had no descriptor, and where the gate was shut.
constexpr std::chrono::milliseconds kWithoutDescriptors{100};
constexpr std::chrono::milliseconds kWhileShut{5};
constexpr std::chrono::seconds kBetweenLines{10};
// Bytes of a connection between two looks, or unclaimed.
constexpr uint64_t kMuch = 1 << 20;

// Descriptors are numbered from the lowest that is free: one of this number says that
// all below are taken.
int FirstReserved(uint64_t reserved) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1 << 30;
  const uint64_t most = std::min<uint64_t>(limit.rlim_cur, 1 << 30);
  return static_cast<int>(most - std::min(reserved, most / 8));
}

// What gRPC gives to connections that it accepts itself.
void SetOptions(int fd, std::chrono::milliseconds peer_timeout) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto timeout = static_cast<unsigned int>(peer_timeout.count());
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

// For a connection that gRPC has taken over. gRPC waits for an event when the system
// says that a read left nothing, and a reset that came with the last bytes gives none
// any more: the connection would be held until keepalive. Without the system's word
// gRPC reads until it is refused; one that was reset before is woken. gRPC may have
// closed the socket and the number be another's: none here is harmed by it.
void LetResetsBeSeen(int fd) {
  const int off = 0;
  setsockopt(fd, IPPROTO_TCP, TCP_INQ, &off, sizeof(off));
  pollfd polled{fd, 0, 0};
  if (poll(&polled, 1, 0) == 1) shutdown(fd, SHUT_RDWR);
}

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
  return absl::StrCat("ipv6:[", text, "]:", ntohs(v6.sin6_port));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcPort>> GrpcPort::Open(
    const ListenAddress& wanted, const GrpcPortOptions& options) {
  absl::StatusOr<std::vector<Listener>> listeners = Listener::OpenAll(wanted);
  if (!listeners.ok()) return listeners.status();
  FileDescriptor wakeup(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wakeup.valid()) return absl::ErrnoToStatus(errno, "listen: eventfd");
  absl::StatusOr<DepartedPeers> departed = DepartedPeers::Create();
  if (!departed.ok()) return departed.status();
  return std::unique_ptr<GrpcPort>(new GrpcPort(
      *std::move(listeners), std::move(wakeup), *std::move(departed), options));
}

GrpcPort::GrpcPort(std::vector<Listener> listeners, FileDescriptor wakeup,
                   DepartedPeers departed, const GrpcPortOptions& options)
    : options_(options),
      listeners_(std::move(listeners)),
      wakeup_(std::move(wakeup)),
      gate_(options.gate),
      departed_(std::move(departed)),
      refusals_(Clock::Steady(), {.lines = 1, .in = kBetweenLines}),
      waits_(Clock::Steady(), {.lines = 1, .in = kBetweenLines}) {}

GrpcPort::~GrpcPort() { Stop(); }

void GrpcPort::AddTo(grpc::ServerBuilder& builder,
                     std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Type::FROM_FD, std::move(credentials));
}

void GrpcPort::Start() {
  pace_.emplace(Clock::Steady().Now(), ResidentBytes().value_or(0), options_.look);
  looks_.emplace(options_.look.interval(), [this] { LookIfDue(); });
  thread_ = std::thread([this] { Run(); });
}

void GrpcPort::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  // It can't be full: this is the one place that writes to it.
  [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
  // A peer that is being read in that thread may have to be cut for it.
  thread_.join();
  looks_.reset();
  listeners_.clear();
}

void GrpcPort::LookIfDue() {
  const Look look = pace_->Next(Clock::Steady().Now(), ResidentBytes().value_or(0));
  if (look != Look::kNone) LookAtConnections(look == Look::kAll);
}

void GrpcPort::Run() {
  std::vector<pollfd> polled(listeners_.size() + 1, {wakeup_.get(), POLLIN, 0});
  const Clock& clock = Clock::Steady();
  // None are accepted until then.
  Clock::TimePoint paused_until = clock.Now();
  for (;;) {
    const Clock::TimePoint now = clock.Now();
    const bool paused = now < paused_until;
    for (size_t i = 0; i < listeners_.size(); ++i) {
      // poll passes over a negative descriptor.
      polled[i + 1] = {paused ? -1 : listeners_[i].fd(), POLLIN, 0};
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(paused_until - now);
    const int wait = paused ? static_cast<int>(left.count()) : -1;
    if (poll(polled.data(), polled.size(), wait) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      const auto pause = AcceptSome(listeners_[i]);
      paused_until = std::max(paused_until, clock.Now() + pause);
    }
  }
}

std::chrono::milliseconds GrpcPort::AcceptSome(Listener& listener) {
  const int64_t held = departed_.Held();
  if (!gate_.IsOpen(Clock::Steady().Now(), held)) {
    if (waits_.Take("").has_value()) {
      Log(LogLevel::kWarning, "connections wait",
          {{"because", "peers left faster than their calls are taken down"},
           {"calls", std::to_string(held)}});
    }
    return kWhileShut;
  }
  for (int i = 0; i < kAtOnce; ++i) {
    FileDescriptor connection = listener.Accept();
    if (connection.valid()) {
      if (!HandOver(std::move(connection))) Refused("few descriptors are left");
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    Refused("no descriptor is left");
    return kWithoutDescriptors;
  }
  return {};
}

bool GrpcPort::HandOver(FileDescriptor connection) {
  if (connection.get() >= FirstReserved(options_.reserved_descriptors)) return false;
  // It waited for longer than its peer did.
  if (HasHungUp(connection.get())) return true;
  SetOptions(connection.get(), options_.peer_timeout);
  departed_.Watch(connection.get(), Remember(connection.get()));
  Acceptor::NewConnectionParameters parameters;
  const int fd = parameters.fd = connection.Release();
  acceptor_->HandleNewConnection(&parameters);
  LetResetsBeSeen(fd);
  return true;
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

void GrpcPort::Refused(const char* why) {
  const std::optional<uint64_t> left_out = refusals_.Take("");
  if (!left_out.has_value()) return;
  Log(LogLevel::kError, "connections refused",
      {{"because", why}, {"connections", std::to_string(*left_out + 1)}});
}

}  // namespace evenpack
