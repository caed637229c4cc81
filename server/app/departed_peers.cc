#include "server/app/departed_peers.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/app/connection_bytes.h"

namespace evenpack {
namespace {

// A call takes 100 and more, or less where its fields were sent before.
constexpr uint64_t kBytesOfCall = 64;

// 0 where there is no such socket.
uint64_t CookieOf(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

}  // namespace

absl::StatusOr<DepartedPeers> DepartedPeers::Create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return absl::ErrnoToStatus(errno, "listen: epoll_create1");
  return DepartedPeers(std::move(epoll));
}

void DepartedPeers::Watch(int socket, std::shared_ptr<const CallCounts> calls) {
  watched_.insert_or_assign(socket, Watched{CookieOf(socket), std::move(calls)});
  epoll_event event{};
  // Once; errors and resets always.
  event.events = EPOLLRDHUP | EPOLLET;
  event.data.fd = socket;
  // Where the system has no memory for it, the connection is one that never leaves.
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
    watched_.erase(socket);
  }
}

void DepartedPeers::TakeEvents() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
      const auto found = watched_.find(events[static_cast<size_t>(i)].data.fd);
      if (found == watched_.end()) continue;
      const uint64_t received =
          BytesOf(found->first).value_or(ConnectionBytes{}).received;
      departed_.push_back({found->first, std::move(found->second), received});
      watched_.erase(found);
    }
    if (count < static_cast<int>(events.size())) return;
  }
}

int64_t DepartedPeers::CallsOf(const Departed& departed) {
  const CallCounts& calls = *departed.watched.calls;
  const uint64_t claimed = calls.claimed;
  const uint64_t unclaimed = departed.received - std::min(departed.received, claimed);
  return std::max<int64_t>(calls.open, 0) +
         static_cast<int64_t>(unclaimed / kBytesOfCall);
}

int64_t DepartedPeers::Held() {
  TakeEvents();
  int64_t held = 0;
  std::erase_if(departed_, [&held](const Departed& each) {
    const bool closed =
        each.watched.calls->open <= 0 && CookieOf(each.socket) != each.watched.cookie;
    if (!closed) held += 1 + CallsOf(each);
    return closed;
  });
  return held;
}

}  // namespace evenpack
