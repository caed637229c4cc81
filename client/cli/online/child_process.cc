#include "client/cli/online/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace evenpack {
namespace {

constexpr size_t kMostErrors = 4096;
// Exit codes of a process that could not become another.
constexpr int kNotStarted = 127;
constexpr int kNotTold = 126;

// Both ends are closed on exec, and here when their owner goes.
class Pipe {
 public:
  static absl::StatusOr<Pipe> Open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
    }
    return Pipe(ends);
  }
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(Pipe&& other) noexcept : ends_(std::exchange(other.ends_, {-1, -1})) {}
  Pipe& operator=(Pipe&&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseWriter() { Close(ends_[1]); }
  // The reader becomes the caller's.
  int TakeReader() { return std::exchange(ends_[0], -1); }

 private:
  explicit Pipe(std::array<int, 2> ends) : ends_(ends) {}
  void CloseReader() { Close(ends_[0]); }
  static void Close(int& end) {
    if (end >= 0) static_cast<void>(close(end));
    end = -1;
  }

  std::array<int, 2> ends_;
};

// All that the new process needs to become the program: it may not allocate memory.
struct ProgramStart {
  std::vector<const char*> paths;  // where the program may be
  std::vector<char*> arguments;
  int input;
  int output;
  int errors;
  int failure;  // to which errno is written
  pid_t parent;
};

// In the new process; only what POSIX calls async-signal-safe.
[[noreturn]] void BecomeProgram(const ProgramStart& start) {
  // It ends with its parent, which may have gone already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(kNotStarted);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  // What libraries have open, too.
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  int error = ENOENT;
  for (const char* const path : start.paths) {
    execv(path, start.arguments.data());
    // On to the next folder, as execvp() does it; one without leave is told of.
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  _exit(write(start.failure, &error, sizeof(error)) < 0 ? kNotTold : kNotStarted);
}

std::vector<std::string> PathsOf(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* const variable = std::getenv("PATH");
  std::vector<std::string> paths;
  for (const absl::string_view folder :
       absl::StrSplit(variable == nullptr ? "/usr/bin:/bin" : variable, ':')) {
    paths.push_back(absl::StrCat(folder.empty() ? "." : folder, "/", program));
  }
  return paths;
}

// OK once the process has become its program.
absl::Status AwaitStart(int failure) {
  int error = 0;
  while (true) {
    const ssize_t size = read(failure, &error, sizeof(error));
    if (size == 0) return absl::OkStatus();
    if (size > 0) return absl::NotFoundError(std::strerror(error));
    if (errno != EINTR) return absl::InternalError(std::strerror(errno));
  }
}

int WaitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string LastLine(std::string_view text) {
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return std::string(
      absl::StripLeadingAsciiWhitespace(trimmed.substr(trimmed.rfind('\n') + 1)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, int input, const Interrupt& interrupt) {
  absl::StatusOr<Pipe> output = Pipe::Open();
  absl::StatusOr<Pipe> errors = Pipe::Open();
  absl::StatusOr<Pipe> failure = Pipe::Open();
  for (const auto* const pipe : {&output, &errors, &failure}) {
    if (!pipe->ok()) return pipe->status();
  }
  const std::vector<std::string> paths = PathsOf(arguments[0]);
  ProgramStart start = {.paths = {},
                        .arguments = {},
                        .input = input,
                        .output = output->writer(),
                        .errors = errors->writer(),
                        .failure = failure->writer(),
                        .parent = getpid()};
  for (const std::string& path : paths) start.paths.push_back(path.c_str());
  for (const std::string& argument : arguments) {
    start.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  start.arguments.push_back(nullptr);
  // Not fork(): libraries that have threads prepare for that one, for long.
  const pid_t process = _Fork();
  if (process < 0) return absl::InternalError(std::strerror(errno));
  if (process == 0) BecomeProgram(start);
  output->CloseWriter();
  errors->CloseWriter();
  failure->CloseWriter();
  if (absl::Status status = AwaitStart(failure->reader()); !status.ok()) {
    WaitFor(process);
    return status;
  }
  return std::unique_ptr<ChildProcess>(
      new ChildProcess(process, output->TakeReader(), errors->TakeReader(), interrupt));
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    WaitFor(process_);
  }
  static_cast<void>(close(output_));
  if (errors_ >= 0) static_cast<void>(close(errors_));
}

// Takes in what comes on standard error, so that the process never waits for that,
// until there is output or, where `output` is -1, until the errors' end.
absl::Status ChildProcess::Await(int output) {
  while (output >= 0 || errors_ >= 0) {
    // A negative descriptor is passed over.
    std::array<pollfd, 3> waited = {{{output, POLLIN, 0},
                                     {errors_, POLLIN, 0},
                                     {interrupt_.descriptor(), POLLIN, 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return absl::InternalError(absl::StrCat("poll: ", std::strerror(errno)));
    }
    if (waited[2].revents != 0) return absl::CancelledError("interrupted");
    if (waited[1].revents != 0) ReadErrors();
    if (waited[0].revents != 0) return absl::OkStatus();
  }
  return absl::OkStatus();
}

void ChildProcess::ReadErrors() {
  std::array<char, kMostErrors> block{};
  const ssize_t size = read(errors_, block.data(), block.size());
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) {
    static_cast<void>(close(std::exchange(errors_, -1)));
    return;
  }
  last_errors_.append(block.data(), static_cast<size_t>(size));
  if (last_errors_.size() > kMostErrors) {
    last_errors_.erase(0, last_errors_.size() - kMostErrors);
  }
}

absl::StatusOr<size_t> ChildProcess::Read(char* buffer, size_t size) {
  while (true) {
    if (absl::Status status = Await(output_); !status.ok()) return status;
    const ssize_t count = read(output_, buffer, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) {
      return absl::InternalError(absl::StrCat("read: ", std::strerror(errno)));
    }
  }
}

bool ChildProcess::IsReady() const {
  pollfd waited = {output_, POLLIN, 0};
  return poll(&waited, 1, 0) > 0;
}

absl::StatusOr<ChildProcess::Ending> ChildProcess::Wait() {
  if (absl::Status status = Await(-1); !status.ok()) return status;
  const int status = WaitFor(std::exchange(process_, 0));
  return Ending{WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                WIFSIGNALED(status) ? WTERMSIG(status) : 0, LastLine(last_errors_)};
}

}  // namespace evenpack
