#include "server/runtime/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace evenpack {
namespace {

// The child's exit status, once it has ended. Also others end that were left to
// process 1.
std::optional<int> Reap(pid_t child) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended <= 0) return std::nullopt;
    if (ended != child) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

// `signals` are blocked, so that they wait to be taken here.
int Attend(pid_t child, const sigset_t& signals) {
  for (;;) {
    siginfo_t info = {};
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      const std::optional<int> status = Reap(child);
      if (status.has_value()) return *status;
    } else if (signal > 0 && info.si_code != SI_KERNEL) {
      kill(child, signal);
    }
  }
}

}  // namespace

std::optional<int> LeaveFirstProcess() {
  if (getpid() != 1) return std::nullopt;
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t child = fork();
  if (child > 0) return Attend(child, signals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

}  // namespace evenpack
