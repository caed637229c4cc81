#include "server/web/accept_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/runtime/clock.h"
#include "server/runtime/hung_up.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;

// Connections of a listener that are taken before the others have their turn.
constexpr int kAtOnce = 16;
// Between two tries where the system had no descriptor.
constexpr milliseconds kWithoutDescriptors{100};
constexpr std::chrono::seconds kBetweenLines{10};

// Of fewer descriptors fewer are reserved, in proportion.
constexpr uint64_t kPlenty = 1024;

// Descriptors are numbered from the lowest that is free: one of this number says that
// all below are taken.
int FirstReserved(uint64_t reserved) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1 << 30;
  const uint64_t most = std::min<uint64_t>(limit.rlim_cur, 1 << 30);
  return static_cast<int>(most - reserved * std::min(most, kPlenty) / kPlenty);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::Create(
    AcceptLoopOptions options) {
  FileDescriptor wakeup(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wakeup.valid()) return absl::ErrnoToStatus(errno, "listen: eventfd");
  return std::unique_ptr<AcceptLoop>(
      new AcceptLoop(std::move(options), std::move(wakeup)));
}

AcceptLoop::AcceptLoop(AcceptLoopOptions options, FileDescriptor wakeup)
    : options_(std::move(options)),
      wakeup_(std::move(wakeup)),
      refusals_(Clock::Steady(), {.lines = 1, .in = kBetweenLines}) {}

void AcceptLoop::Start(std::vector<int> listening) {
  listening_ = std::move(listening);
  thread_ = std::thread([this] { Run(); });
}

void AcceptLoop::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(wakeup_.get(), 1);
  thread_.join();
}

void AcceptLoop::Run() {
  std::vector<pollfd> polled(listening_.size() + 1, {wakeup_.get(), POLLIN, 0});
  const Clock& clock = Clock::Steady();
  // None are accepted until then.
  Clock::TimePoint paused_until = clock.Now();
  for (;;) {
    const Clock::TimePoint now = clock.Now();
    const bool paused = now < paused_until;
    for (size_t i = 0; i < listening_.size(); ++i) {
      // poll passes over a negative descriptor.
      polled[i + 1] = {paused ? -1 : listening_[i], POLLIN, 0};
    }
    const auto left = std::chrono::ceil<milliseconds>(paused_until - now);
    const int wait = paused ? static_cast<int>(left.count()) : -1;
    if (poll(polled.data(), polled.size(), wait) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 0; i < listening_.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      const milliseconds pause = AcceptSome(listening_[i]);
      paused_until = std::max(paused_until, clock.Now() + pause);
    }
  }
}

milliseconds AcceptLoop::AcceptSome(int listening) {
  if (options_.pause != nullptr) {
    if (const milliseconds pause = options_.pause(); pause.count() > 0) return pause;
  }
  for (int i = 0; i < kAtOnce; ++i) {
    FileDescriptor connection(
        accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      Take(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    Refused("no descriptor is left");
    return kWithoutDescriptors;
  }
  return {};
}

void AcceptLoop::Take(FileDescriptor connection) {
  if (connection.get() >= FirstReserved(options_.reserved_descriptors)) {
    Refused("few descriptors are left");
    return;
  }
  // One may have waited for longer than its peer did.
  if (!HasHungUp(connection.get())) options_.take(std::move(connection));
}

void AcceptLoop::Refused(const char* why) {
  const std::optional<uint64_t> left_out = refusals_.Take("");
  if (!left_out.has_value()) return;
  Log(LogLevel::kError, "connections refused",
      {{"because", why}, {"connections", std::to_string(*left_out + 1)}});
}

}  // namespace evenpack
