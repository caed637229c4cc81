#include "gpu_worker/app/end_signal.h"

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
  action.sa_handler = [](int signal) {
    const auto number = static_cast<uint64_t>(signal);
    // Of several the sum is read, and all mean the same.
    static_cast<void>(!write(end_descriptor, &number, sizeof(number)));
  };
  if (end_descriptor < 0 || sigaction(SIGTERM, &action, nullptr) != 0 ||
      sigaction(SIGINT, &action, nullptr) != 0) {
    return absl::ErrnoToStatus(errno, "signals can't be handled");
  }
  return absl::OkStatus();
}

void EndSignal::Await() {
  uint64_t number = 0;
  while (read(end_descriptor, &number, sizeof(number)) < 0 && errno == EINTR) {
  }
}

}  // namespace evenpack::worker
