#include "client/cli/online/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchPath;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

using Process = absl::StatusOr<std::unique_ptr<ChildProcess>>;

class ChildProcessTest : public ::testing::Test {
 protected:
  ChildProcessTest() { EXPECT_EQ(pipe2(input_.data(), O_CLOEXEC), 0); }
  ~ChildProcessTest() override {
    CloseInput();
    close(input_[0]);
  }

  Process Start(const std::vector<std::string>& arguments) {
    return ChildProcess::Start(arguments, input_[0], interrupt_);
  }
  Process StartShell(const std::string& script) { return Start({"sh", "-c", script}); }
  void Write(const std::string& text) {
    EXPECT_EQ(write(input_[1], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void CloseInput() {
    if (input_[1] >= 0) close(input_[1]);
    input_[1] = -1;
  }

  std::array<int, 2> input_{};
  Interrupt interrupt_;
};

std::string OutputOf(ChildProcess& process) {
  std::string all;
  std::array<char, 1000> block{};
  while (true) {
    const auto size = process.Read(block.data(), block.size());
    EXPECT_THAT(size, IsOk());
    if (size.value_or(0) == 0) return all;
    all.append(block.data(), *size);
  }
}

TEST_F(ChildProcessTest, GivesAProgramItsArgumentsAsTheyAre) {
  const Process process = Start({"printf", "%s,", "a b", "$HOME", "'\"*", ""});
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ(OutputOf(**process), "a b,$HOME,'\"*,,");
}

TEST_F(ChildProcessTest, GivesAProgramItsInput) {
  const Process process = Start({"cat"});
  ASSERT_THAT(process, IsOk());
  Write("some text");
  CloseInput();
  EXPECT_EQ(OutputOf(**process), "some text");
  const auto ending = (*process)->Wait();
  ASSERT_THAT(ending, IsOk());
  EXPECT_EQ(ending->code, 0);
  EXPECT_EQ(ending->signal, 0);
  EXPECT_EQ(ending->last_words, "");
}

TEST_F(ChildProcessTest, IsReadyWhereThereIsOutputOrItsEnd) {
  const Process process = Start({"cat"});
  ASSERT_THAT(process, IsOk());
  EXPECT_FALSE((*process)->IsReady());
  Write("ab");
  char byte = 0;
  EXPECT_THAT((*process)->Read(&byte, 1), IsOk());
  EXPECT_EQ(byte, 'a');
  EXPECT_TRUE((*process)->IsReady());
  EXPECT_THAT((*process)->Read(&byte, 1), IsOk());
  EXPECT_FALSE((*process)->IsReady());
  CloseInput();
  EXPECT_EQ(OutputOf(**process), "");
  EXPECT_TRUE((*process)->IsReady());
}

TEST_F(ChildProcessTest, SaysHowAProgramEndedAndItsLastWords) {
  Process process = StartShell("echo first >&2; echo ' the last ' >&2; exit 3");
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ(OutputOf(**process), "");
  auto ending = (*process)->Wait();
  ASSERT_THAT(ending, IsOk());
  EXPECT_EQ(ending->code, 3);
  EXPECT_EQ(ending->signal, 0);
  EXPECT_EQ(ending->last_words, "the last");
  process = StartShell("kill -TERM $$");
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ(OutputOf(**process), "");
  ending = (*process)->Wait();
  ASSERT_THAT(ending, IsOk());
  EXPECT_EQ(ending->code, 0);
  EXPECT_EQ(ending->signal, SIGTERM);
}

TEST_F(ChildProcessTest, NeverLetsAProgramWaitForItsErrorsToBeRead) {
  const Process process = StartShell(
      "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo error $i >&2; done; "
      "echo done");
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ(OutputOf(**process), "done\n");
  EXPECT_EQ((*process)->Wait()->last_words, "error 20000");
}

TEST_F(ChildProcessTest, LooksForAProgramInPath) {
  const std::string folder = ScratchPath("child_process_test");
  EXPECT_THAT(Start({folder}),
              StatusIs(absl::StatusCode::kNotFound, "No such file or directory"));
  std::ofstream(folder) << "no folder, no program";
  EXPECT_THAT(Start({folder}),
              StatusIs(absl::StatusCode::kNotFound, "Permission denied"));
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder + ":/no/such/folder:" + path).c_str(), 1);
  EXPECT_THAT(Start({"true"}), IsOk());
  EXPECT_THAT(Start({"evenpack-no-such-program"}),
              StatusIs(absl::StatusCode::kNotFound, "No such file or directory"));
  setenv("PATH", path.c_str(), 1);
}

TEST_F(ChildProcessTest, StopsWaitingWhereItIsInterrupted) {
  const Process process = Start({"cat"});
  ASSERT_THAT(process, IsOk());
  interrupt_.Request();
  char byte = 0;
  EXPECT_THAT((*process)->Read(&byte, 1),
              StatusIs(absl::StatusCode::kCancelled, "interrupted"));
  EXPECT_THAT((*process)->Wait(),
              StatusIs(absl::StatusCode::kCancelled, "interrupted"));
}

TEST_F(ChildProcessTest, LeavesCtrlCToItsOwner) {
  const Process process = StartShell("kill -INT $$; echo alive");
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ(OutputOf(**process), "alive\n");
}

TEST_F(ChildProcessTest, HandsNoOtherDescriptorOn) {
  constexpr int kOpen = 200;
  ASSERT_EQ(fcntl(input_[0], F_DUPFD, kOpen), kOpen);
  const Process process = StartShell("[ -e /proc/self/fd/0 ] && ls /proc/self/fd");
  ASSERT_THAT(process, IsOk());
  const std::string open = OutputOf(**process);
  close(kOpen);
  EXPECT_THAT(open, HasSubstr("0\n1\n2\n"));
  EXPECT_THAT(open, Not(HasSubstr("200")));
}

// Whether nobody reads from the pipe any more, within half a minute.
bool IsWithoutReader(int writer) {
  pollfd waited = {writer, 0, 0};
  return poll(&waited, 1, 30'000) == 1 && (waited.revents & POLLERR) != 0;
}

TEST_F(ChildProcessTest, KillsAProgramWithItsOwner) {
  Process process = Start({"sleep", "1000"});
  ASSERT_THAT(process, IsOk());
  close(input_[0]);
  pollfd waited = {input_[1], 0, 0};
  EXPECT_EQ(poll(&waited, 1, 0), 0);
  process->reset();
  EXPECT_TRUE(IsWithoutReader(input_[1]));
  input_[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST_F(ChildProcessTest, AProgramEndsWithThisProcessHoweverThatEnds) {
  const pid_t between = fork();
  ASSERT_GE(between, 0);
  if (between == 0) {
    const Process process = Start({"sleep", "1000"});
    // Nobody cleans up.
    if (process.ok()) kill(getpid(), SIGKILL);
    _exit(1);
  }
  close(input_[0]);
  int status = 0;
  EXPECT_EQ(waitpid(between, &status, 0), between);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(IsWithoutReader(input_[1]));
  input_[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace
}  // namespace evenpack
