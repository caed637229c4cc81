#include "server/web/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> Resolve(const ListenAddress& wanted) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(wanted.host.c_str(),
                                std::to_string(wanted.port).c_str(), &hints, &found);
  if (error != 0) {
    return InvalidField(
        "http-listen", absl::StrCat("'", FormatAddress(wanted), "'"),
        absl::StrCat("a host that this machine knows (", gai_strerror(error), ")"));
  }
  return AddressList(found, &freeaddrinfo);
}

// Not valid, and errno set, where the address can't be had.
FileDescriptor ListenAt(const addrinfo& at) {
  FileDescriptor listening(socket(
      at.ai_family, at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at.ai_protocol));
  if (!listening.valid()) return listening;
  const int fd = listening.get();
  const int on = 1;
  const int off = 0;
  // A restarted server may have its port although old connections linger.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // "[::]" takes IPv4 too.
  if (at.ai_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    listening = FileDescriptor();
    errno = error;
  }
  return listening;
}

absl::StatusOr<ListenAddress> AddressOf(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket.get(), generic, &size) != 0) {
    return absl::ErrnoToStatus(errno, "http-listen: getsockname");
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const int error = getnameinfo(generic, size, host, sizeof(host), port, sizeof(port),
                                NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) {
    return absl::InternalError(
        absl::StrCat("http-listen: getnameinfo: ", gai_strerror(error)));
  }
  ListenAddress result;
  result.host = host;
  const std::string_view digits(port);
  std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  return result;
}

absl::Status CannotListen(const ListenAddress& wanted) {
  const std::string reason = std::generic_category().message(errno);
  constexpr absl::string_view kFlag = "http-listen";
  absl::Status status = absl::FailedPreconditionError(
      absl::StrCat(kFlag, ": can't listen on ", FormatAddress(wanted), ": ", reason,
                   "; accepted: HOST:PORT of this machine with a port that is free"));
  // Other ports have flags of other names.
  status.SetPayload(kFieldPayload, absl::Cord(kFlag));
  return status;
}

bool IsAnyOfIPv4(const addrinfo& at) {
  return at.ai_family == AF_INET &&
         reinterpret_cast<const sockaddr_in*>(at.ai_addr)->sin_addr.s_addr ==
             INADDR_ANY;
}

// Of all addresses of the machine. Not valid, and errno set, where it can't be had.
FileDescriptor ListenAtAll(uint16_t port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  addrinfo at{};
  at.ai_family = AF_INET6;
  at.ai_socktype = SOCK_STREAM;
  at.ai_addr = reinterpret_cast<sockaddr*>(&any);
  at.ai_addrlen = sizeof(any);
  return ListenAt(at);
}

// Why a machine without IPv6 refuses one of its sockets.
bool LacksIPv6(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT;
}

void SetPort(const addrinfo& at, uint16_t port) {
  if (at.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(at.ai_addr)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(at.ai_addr)->sin_port = htons(port);
  }
}

}  // namespace

Listener::Listener(FileDescriptor socket, ListenAddress address)
    : socket_(std::move(socket)), address_(std::move(address)) {}

absl::StatusOr<Listener> Listener::Open(const ListenAddress& wanted) {
  absl::StatusOr<AddressList> addresses = Resolve(wanted);
  if (!addresses.ok()) return addresses.status();
  FileDescriptor socket;
  for (const addrinfo* at = addresses->get(); at != nullptr && !socket.valid();
       at = at->ai_next) {
    socket = ListenAt(*at);
  }
  if (!socket.valid()) return CannotListen(wanted);
  absl::StatusOr<ListenAddress> address = AddressOf(socket);
  if (!address.ok()) return address.status();
  return Listener(std::move(socket), *std::move(address));
}

absl::StatusOr<std::vector<Listener>> Listener::OpenAll(const ListenAddress& wanted) {
  absl::StatusOr<AddressList> addresses = Resolve(wanted);
  if (!addresses.ok()) return addresses.status();
  std::vector<Listener> listeners;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    if (!IsAnyOfIPv4(*at)) continue;
    FileDescriptor socket = ListenAtAll(wanted.port);
    if (!socket.valid() && LacksIPv6(errno)) break;
    if (!socket.valid()) return CannotListen(wanted);
    absl::StatusOr<ListenAddress> address = AddressOf(socket);
    if (!address.ok()) return address.status();
    address->host = "0.0.0.0";
    listeners.push_back(Listener(std::move(socket), *std::move(address)));
    return listeners;
  }
  int error = 0;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    if (!listeners.empty()) SetPort(*at, listeners.front().address().port);
    FileDescriptor socket = ListenAt(*at);
    if (!socket.valid()) {
      error = errno;
      continue;
    }
    absl::StatusOr<ListenAddress> address = AddressOf(socket);
    if (!address.ok()) return address.status();
    listeners.push_back(Listener(std::move(socket), *std::move(address)));
  }
  errno = error;
  if (listeners.empty()) return CannotListen(wanted);
  return listeners;
}

FileDescriptor Listener::Accept() {
  return FileDescriptor(
      accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace evenpack
