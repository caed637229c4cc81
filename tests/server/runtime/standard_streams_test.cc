#include "server/runtime/standard_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace evenpack {
namespace {

// The exit status of a process of its own that does this.
int StatusOf(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(StandardStreamsTest, WhatIsClosedFailsAndIsNotWhatIsOpenedNext) {
  EXPECT_EQ(StatusOf([] {
              for (const int stream : {0, 1, 2}) close(stream);
              PrepareStandardStreams();
              if (dup(2) <= 2) return 1;
              char byte = 0;
              if (read(0, &byte, 1) >= 0 || write(1, "x", 1) >= 0) return 2;
              std::fputs("lost", stdout);
              return absl::IsUnavailable(FlushStandardOutput()) ? 0 : 3;
            }),
            0);
}

TEST(StandardStreamsTest, WhatALibraryHasOpenedSinceIsNoStream) {
  EXPECT_EQ(StatusOf([] {
              close(0);
              if (eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK) != 0) return 1;
              PrepareStandardStreams();
              uint64_t count = 0;
              if (read(0, &count, sizeof(count)) >= 0 || errno != EBADF) return 2;
              return dup(2) > 2 ? 0 : 3;
            }),
            0);
}

TEST(StandardStreamsTest, ALimitOfFilesSizeIsAnErrorToo) {
  EXPECT_EQ(StatusOf([] {
              PrepareStandardStreams();
              std::FILE* const file = std::tmpfile();
              const rlimit none = {0, 0};
              if (file == nullptr || setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
              if (write(fileno(file), "x", 1) >= 0) return 2;
              return errno == EFBIG ? 0 : 3;
            }),
            0);
}

TEST(StandardStreamsTest, WhatDoesNotFitIsAnError) {
  EXPECT_EQ(StatusOf([] {
              PrepareStandardStreams();
              if (std::freopen("/dev/full", "w", stdout) == nullptr) return 1;
              std::fputs("lost", stdout);
              const absl::Status status = FlushStandardOutput();
              return status == absl::UnavailableError(
                                   "standard output: No space left on device")
                         ? 0
                         : 2;
            }),
            0);
}

TEST(StandardStreamsTest, AReaderThatIsGoneIsNone) {
  EXPECT_EQ(StatusOf([] {
              int ends[2];
              if (pipe(ends) != 0) return 1;
              dup2(ends[1], 1);
              close(ends[0]);
              PrepareStandardStreams();
              std::fputs("lost", stdout);
              return FlushStandardOutput().ok() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace evenpack
