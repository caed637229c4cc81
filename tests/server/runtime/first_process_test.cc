#include "server/runtime/first_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <optional>

namespace evenpack {
namespace {

// Process 1 of a namespace of its own, which does `work` where LeaveFirstProcess() lets
// it, and ends with 0 then. Its number here; 0: there are no such namespaces.
class FirstProcess {
 public:
  explicit FirstProcess(const std::function<void()>& work) {
    EXPECT_EQ(pipe(ready_.data()), 0);
    std::array<int, 2> made{};
    EXPECT_EQ(pipe(made.data()), 0);
    maker_ = fork();
    if (maker_ == 0) Make(work, made[1]);
    close(made[1]);
    close(ready_[1]);
    const bool is_made = read(made[0], &number_, sizeof(number_)) == sizeof(number_);
    close(made[0]);
    if (!is_made) number_ = 0;
  }
  ~FirstProcess() {
    if (number_ > 0) kill(number_, SIGKILL);
    if (maker_ > 0) waitpid(maker_, nullptr, 0);
    close(ready_[0]);
  }
  FirstProcess(const FirstProcess&) = delete;
  FirstProcess& operator=(const FirstProcess&) = delete;

  pid_t number() const { return number_; }
  // Returns when the work has begun.
  void AwaitWork() const {
    char begun = 0;
    EXPECT_EQ(read(ready_[0], &begun, 1), 1);
  }
  int ExitStatus() {
    int status = 0;
    EXPECT_EQ(waitpid(maker_, &status, 0), maker_);
    maker_ = 0;
    number_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  // In a process of its own, since what it forks from then on is in the namespace.
  [[noreturn]] void Make(const std::function<void()>& work, int made) const {
    if (unshare(CLONE_NEWPID) != 0) _exit(1);
    const pid_t first = fork();
    if (first == 0) {
      close(made);
      const std::optional<int> status = LeaveFirstProcess();
      if (status.has_value()) _exit(*status);
      if (getpid() == 1) _exit(99);
      if (write(ready_[1], "", 1) == 1) work();
      _exit(0);
    }
    close(ready_[1]);
    if (write(made, &first, sizeof(first)) != sizeof(first)) _exit(1);
    int status = 0;
    waitpid(first, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }

  std::array<int, 2> ready_{};
  pid_t maker_ = 0;
  pid_t number_ = 0;
};

void WaitForASignal() {
  for (;;) pause();
}

TEST(FirstProcessTest, AnyOtherProcessGoesOn) {
  EXPECT_EQ(LeaveFirstProcess(), std::nullopt);
}

TEST(FirstProcessTest, EndsAsTheProgramThatItLeftToAChild) {
  FirstProcess first([] { _exit(7); });
  if (first.number() == 0) GTEST_SKIP() << "no namespaces of processes";
  EXPECT_EQ(first.ExitStatus(), 7);
}

TEST(FirstProcessTest, SignalsEndTheProgramThatHasNoHandlerOfThem) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    FirstProcess first(WaitForASignal);
    if (first.number() == 0) GTEST_SKIP() << "no namespaces of processes";
    first.AwaitWork();
    kill(first.number(), signal);
    EXPECT_EQ(first.ExitStatus(), 128 + signal);
  }
}

TEST(FirstProcessTest, TakesProcessesThatWereLeftToItForNoEnd) {
  FirstProcess first([] {
    // Whose parent ends before it, so that it is left to process 1.
    std::array<int, 2> orphan_lives{};
    if (pipe(orphan_lives.data()) != 0) _exit(1);
    const pid_t parent = fork();
    if (parent == 0) {
      if (fork() != 0) _exit(0);
      close(orphan_lives[0]);
      while (getppid() != 1) sched_yield();
      _exit(3);
    }
    waitpid(parent, nullptr, 0);
    close(orphan_lives[1]);
    char end = 0;
    if (read(orphan_lives[0], &end, 1) != 0) _exit(1);
    _exit(7);
  });
  if (first.number() == 0) GTEST_SKIP() << "no namespaces of processes";
  EXPECT_EQ(first.ExitStatus(), 7);
}

}  // namespace
}  // namespace evenpack
