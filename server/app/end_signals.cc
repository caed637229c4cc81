#include "server/app/end_signals.h"

#include <pthread.h>

#include <utility>

namespace evenpack {

sigset_t EndSignals::Block() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // A terminal that closes.
  struct sigaction hang_up {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

EndSignals::EndSignals(const sigset_t& blocked,
                       std::function<void(int signal)> before_serving)
    : signals_(blocked),
      before_serving_(std::move(before_serving)),
      thread_([this] { Run(); }) {}

EndSignals::~EndSignals() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  // Wakes it, where it still waits: the signal is blocked, and ends nothing.
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void EndSignals::Run() {
  int signal = 0;
  sigwait(&signals_, &signal);
  MutexLock lock(mutex_);
  if (ending_) return;
  // Under the lock, so that serving does not begin meanwhile.
  if (!serving_) before_serving_(signal);
  signal_ = signal;
  changed_.SignalAll();
}

void EndSignals::Serving() {
  MutexLock lock(mutex_);
  serving_ = true;
}

int EndSignals::Await() {
  MutexLock lock(mutex_);
  while (signal_ == 0) changed_.Wait(mutex_);
  return signal_;
}

std::string EndSignals::NameOf(int signal) {
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

}  // namespace evenpack
