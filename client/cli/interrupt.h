// A wish to stop (Ctrl-C, SIGTERM), as something that blocking work can wait for too.
#ifndef EVENPACK_CLIENT_CLI_INTERRUPT_H_
#define EVENPACK_CLIENT_CLI_INTERRUPT_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace evenpack {

// Thread-safe; Request() may be called by a signal's handler.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // By a signal, of which the last one counts.
  void Request(int signal = SIGINT);
  bool IsRequested() const;
  // By which; SIGINT before it is requested.
  int signal() const { return signal_; }
  // A descriptor for poll(), readable once requested. Not to be read from.
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  std::atomic<int> signal_ = SIGINT;
};

// Turns the first SIGINT or SIGTERM of its life into interrupt.Request(); the next one
// ends the process, as it did before. One object at a time.
class SignalGuard {
 public:
  // `interrupt` must outlive the guard.
  explicit SignalGuard(Interrupt& interrupt);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

// Calls `stop` on a thread of its own once the interrupt is requested, if that happens
// in the watch's life.
class InterruptWatch {
 public:
  // `interrupt` must outlive the watch.
  InterruptWatch(const Interrupt& interrupt, std::function<void()> stop);
  // Waits for `stop` if it runs.
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  Interrupt ended_;
  std::thread thread_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_INTERRUPT_H_
