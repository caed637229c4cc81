// Writing to a connection that its peer has closed, as an error rather than a signal.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_PIPE_SIGNAL_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_PIPE_SIGNAL_H_

#include <pthread.h>

#include <csignal>

namespace evenpack::worker {

// While it lives, the calling thread, and the threads that it starts for good, get an
// error from a connection that the peer has closed, not the signal that ends a process.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlocked() {
    if (sigismember(&before_, SIGPIPE) != 0) return;
    // One that came meanwhile is taken, or it would be delivered now.
    const timespec none{};
    sigtimedwait(&pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_PIPE_SIGNAL_H_
