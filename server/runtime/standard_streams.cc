#include "server/runtime/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// What is open under a stream's number and close-on-exec was opened by a library since:
// gRPC tries an eventfd before main(), and never closes one that is descriptor 0.
bool WasGiven(int stream) {
  const int flags = fcntl(stream, F_GETFD);
  return flags < 0 ? errno != EBADF : (flags & FD_CLOEXEC) == 0;
}

}  // namespace

void PrepareStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (WasGiven(stream)) continue;
    static_cast<void>(close(stream));
    // The least that is free is the stream's. For the other way, so that its use fails.
    [[maybe_unused]] const int opened =
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  for (const int ending : {SIGPIPE, SIGXFSZ}) {
    [[maybe_unused]] const auto before = std::signal(ending, SIG_IGN);
  }
}

absl::Status StandardOutputStatus(int error) {
  if (error == 0 || error == EPIPE) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("standard output: ", std::strerror(error)));
}

absl::Status FlushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return absl::OkStatus();
  if (errno != 0) return StandardOutputStatus(errno);
  return absl::UnavailableError("standard output: not all of it could be written");
}

}  // namespace evenpack
