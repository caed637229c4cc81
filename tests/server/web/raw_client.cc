#include "tests/server/web/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "server/web/listener.h"

namespace evenpack::testing {

uint16_t FreePort() { return Listener::Open({"127.0.0.1", 0})->address().port; }

RawClient::RawClient(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(socket_.get(), generic, sizeof(address)) != 0) {
    socket_ = FileDescriptor();
  }
}

uint16_t RawClient::local_port() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void RawClient::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string RawClient::Receive(size_t most) const {
  std::string bytes(most, '\0');
  const ssize_t count = recv(socket_.get(), bytes.data(), most, 0);
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

bool RawClient::HasMore(std::chrono::milliseconds time) const {
  pollfd polled{socket_.get(), POLLIN, 0};
  return poll(&polled, 1, static_cast<int>(time.count())) > 0;
}

std::string RawClient::ReceiveAll() const {
  std::string all;
  for (;;) {
    const std::string bytes = Receive(65536);
    if (bytes.empty()) return all;
    all += bytes;
  }
}

void RawClient::Close() { socket_ = FileDescriptor(); }

void RawClient::Reset() {
  const linger at_once{1, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  Close();
}

std::string RawGet(uint16_t port, std::string_view path) {
  const RawClient client(port);
  client.Send("GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
  return client.ReceiveAll();
}

}  // namespace evenpack::testing
