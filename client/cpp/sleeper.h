// Waiting for time to pass, as something that a test can skip.
#ifndef EVENPACK_CLIENT_CPP_SLEEPER_H_
#define EVENPACK_CLIENT_CPP_SLEEPER_H_

#include <chrono>
#include <memory>
#include <stop_token>

namespace evenpack::client {

// Thread-safe.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns after `duration`, true, or as soon as `stop` is requested, false.
  virtual bool Sleep(std::chrono::nanoseconds duration,
                     const std::stop_token& stop) = 0;

  // Waits on the operating system's clock.
  static std::shared_ptr<Sleeper> Real();
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SLEEPER_H_
