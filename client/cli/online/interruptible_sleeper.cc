#include "client/cli/online/interruptible_sleeper.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

bool InterruptibleSleeper::Sleep(std::chrono::nanoseconds duration,
                                 const std::stop_token& stop) {
  Interrupt stopped;
  const std::stop_callback on_stop(stop, [&stopped] { stopped.Request(); });
  const steady_clock::time_point end = steady_clock::now() + duration;
  while (true) {
    std::array<pollfd, 2> waited = {
        {{interrupt_.descriptor(), POLLIN, 0}, {stopped.descriptor(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    const auto timeout = std::clamp<int64_t>(left.count(), 0, INT32_MAX);
    // A signal's handler ends poll() early, and time may still be left after it.
    if (poll(waited.data(), waited.size(), static_cast<int>(timeout)) > 0) return false;
    if (steady_clock::now() >= end) return true;
  }
}

}  // namespace evenpack
