#include "client/cli/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

namespace evenpack {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

std::atomic<Interrupt*> signal_interrupt{nullptr};

// But for a signal that was ignored when the program began, as Ctrl-C is by what a
// script has started in the background.
void HandleBy(void (*handler)(int)) {
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
  }
}

extern "C" void RequestInterrupt(int signal) {
  const int error = errno;
  HandleBy(SIG_DFL);
  if (Interrupt* const interrupt = signal_interrupt.load()) interrupt->Request(signal);
  errno = error;
}

bool IsReadable(int descriptor, int timeout_ms) {
  pollfd waited = {descriptor, POLLIN, 0};
  return poll(&waited, 1, timeout_ms) > 0;
}

}  // namespace

Interrupt::Interrupt() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() { static_cast<void>(close(descriptor_)); }

void Interrupt::Request(int signal) {
  signal_ = signal;
  const uint64_t one = 1;
  // It fails only where it was requested 2^64 - 2 times before.
  if (write(descriptor_, &one, sizeof(one)) < 0) return;
}

bool Interrupt::IsRequested() const { return IsReadable(descriptor_, 0); }

SignalGuard::SignalGuard(Interrupt& interrupt) {
  signal_interrupt = &interrupt;
  HandleBy(RequestInterrupt);
}

SignalGuard::~SignalGuard() {
  HandleBy(SIG_DFL);
  signal_interrupt = nullptr;
}

InterruptWatch::InterruptWatch(const Interrupt& interrupt, std::function<void()> stop)
    : thread_([this, &interrupt, stop = std::move(stop)] {
        std::array<pollfd, 2> waited = {
            {{interrupt.descriptor(), POLLIN, 0}, {ended_.descriptor(), POLLIN, 0}}};
        while (poll(waited.data(), waited.size(), -1) < 0) {
        }
        if (waited[0].revents != 0) stop();
      }) {}

InterruptWatch::~InterruptWatch() {
  ended_.Request();
  thread_.join();
}

}  // namespace evenpack
