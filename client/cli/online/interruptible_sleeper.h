// Waits that a signal ends.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_INTERRUPTIBLE_SLEEPER_H_
#define EVENPACK_CLIENT_CLI_ONLINE_INTERRUPTIBLE_SLEEPER_H_

#include <chrono>
#include <stop_token>

#include "client/cli/interrupt.h"
#include "client/cpp/sleeper.h"

namespace evenpack {

// Thread-safe. A client that waits with it gives up trying once it is interrupted.
class InterruptibleSleeper : public client::Sleeper {
 public:
  // `interrupt` must outlive the object.
  explicit InterruptibleSleeper(const Interrupt& interrupt) : interrupt_(interrupt) {}

  // False also as soon as the interrupt is requested.
  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override;

 private:
  const Interrupt& interrupt_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_INTERRUPTIBLE_SLEEPER_H_
