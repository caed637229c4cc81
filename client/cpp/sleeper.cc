#include "client/cpp/sleeper.h"

#include <condition_variable>
#include <mutex>

namespace evenpack::client {
namespace {

class RealSleeper final : public Sleeper {
 public:
  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock<std::mutex> lock(mutex);
    stopped.wait_for(lock, stop, duration, [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace

std::shared_ptr<Sleeper> Sleeper::Real() {
  static const auto kSleeper = std::make_shared<RealSleeper>();
  return kSleeper;
}

}  // namespace evenpack::client
