#include "server/service/connection_hand_over.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <utility>

namespace evenpack {
namespace {

using ExternalConnectionType =
    grpc::ServerBuilder::experimental_type::ExternalConnectionType;

// What gRPC gives to connections that it accepts itself. Sockets of the file system
// have neither.
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

}  // namespace

ConnectionHandOver::ConnectionHandOver(
    grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials,
    std::chrono::milliseconds peer_timeout)
    : peer_timeout_(peer_timeout),
      acceptor_(builder.experimental().AddExternalConnectionAcceptor(
          ExternalConnectionType::FROM_FD, std::move(credentials))) {}

void ConnectionHandOver::Take(FileDescriptor connection) {
  SetOptions(connection.get(), peer_timeout_);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  const int fd = parameters.fd = connection.Release();
  acceptor_->HandleNewConnection(&parameters);
  LetResetsBeSeen(fd);
}

}  // namespace evenpack
