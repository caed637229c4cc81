#include "gpu_worker/app/end_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace evenpack::worker {
namespace {

int end_descriptor = -1;

}  // namespace

absl::Status EndSignal::Expect() {
  end_descriptor = eventfd(0, EFD_CLOEXEC);
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int signal) {
    // Whatever the thread does that it interrupts.
    const int error = errno;
    const auto number = static_cast<uint64_t>(signal);
    // Of several the sum is read, and all mean the same.
    static_cast<void>(!write(end_descriptor, &number, sizeof(number)));
    errno = error;
  };
  bool handled = end_descriptor >= 0;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before {};
    handled = handled && sigaction(signal, nullptr, &before) == 0;
    const bool stays_ignored = signal == SIGHUP && before.sa_handler == SIG_IGN;
    handled = handled && (stays_ignored || sigaction(signal, &action, nullptr) == 0);
  }
  if (handled) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "signals can't be handled");
}

void EndSignal::Await() {
  while (!AwaitFor(std::chrono::hours(24))) {
  }
}

bool EndSignal::AwaitFor(std::chrono::milliseconds most) {
  pollfd looked_at = {end_descriptor, POLLIN, 0};
  // A signal that comes meanwhile interrupts it, and is there the next time.
  return poll(&looked_at, 1, static_cast<int>(most.count())) > 0;
}

}  // namespace evenpack::worker
