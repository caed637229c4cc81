#include "tests/server/store/lossy_link.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace evenpack::testing {
namespace {

// Between looks at whether the link is to end, milliseconds.
constexpr int kLook = 20;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool IsReadable(int socket) {
  pollfd look = {.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&look, 1, kLook) > 0;
}

// Empty at the end.
std::string Receive(int socket) {
  std::array<char, 1 << 16> chunk;
  const ssize_t count = recv(socket, chunk.data(), chunk.size(), 0);
  return {chunk.data(), count > 0 ? static_cast<size_t>(count) : 0};
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

LossyLink::LossyLink(int port) : server_port_(port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener_, generic, size), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  EXPECT_EQ(getsockname(listener_, generic, &size), 0);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

LossyLink::~LossyLink() {
  ending_ = true;
  {
    MutexLock lock(mutex_);
    delivers_ = true;
  }
  changed_.SignalAll();
  accepting_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

void LossyLink::Lose(Loss loss, std::string mark, bool cuts) {
  MutexLock lock(mutex_);
  cuts_ = cuts;
  loss_ = loss;
  mark_ = std::move(mark);
}

void LossyLink::Deliver() {
  MutexLock lock(mutex_);
  delivers_ = true;
  changed_.SignalAll();
  while (!delivered_) changed_.Wait(mutex_);
}

void LossyLink::Accept() {
  while (!ending_) {
    if (!IsReadable(listener_)) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client >= 0) connections_.emplace_back([this, client] { Forward(client); });
  }
}

void LossyLink::Forward(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(server_port_);
  bool goes_on =
      connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  while (goes_on && !ending_ && !cut_) {
    std::array<pollfd, 2> looks = {{{.fd = client, .events = POLLIN, .revents = 0},
                                    {.fd = server, .events = POLLIN, .revents = 0}}};
    if (poll(looks.data(), looks.size(), kLook) <= 0) continue;
    if (looks[0].revents != 0) goes_on = PassRequest(client, server);
    if (goes_on && looks[1].revents != 0) goes_on = PassAnswer(client, server);
  }
  shutdown(client, SHUT_RDWR);
  close(client);
  close(server);
}

LossyLink::Loss LossyLink::LossOf(const std::string& chunk) {
  MutexLock lock(mutex_);
  if (loss_ == Loss::kNone || chunk.find(mark_) == std::string::npos) {
    return Loss::kNone;
  }
  cut_ = cuts_;
  return std::exchange(loss_, Loss::kNone);
}

bool LossyLink::PassRequest(int client, int server) {
  const std::string chunk = Receive(client);
  if (chunk.empty()) return false;
  ++requests_;
  const Loss loss = LossOf(chunk);
  if (loss == Loss::kNone) return SendAll(server, chunk);
  if (loss == Loss::kAnswer) {
    SendAll(server, chunk);
    Receive(server);
  } else if (loss == Loss::kDelay) {
    shutdown(client, SHUT_RDWR);
    MutexLock lock(mutex_);
    while (!delivers_) changed_.Wait(mutex_);
    if (!ending_) SendAll(server, chunk);
    if (!ending_) Receive(server);
    delivered_ = true;
    changed_.SignalAll();
  }
  return false;
}

bool LossyLink::PassAnswer(int client, int server) {
  const std::string chunk = Receive(server);
  return !chunk.empty() && SendAll(client, chunk);
}

}  // namespace evenpack::testing
