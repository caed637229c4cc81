// A program that runs beside this one, and whose output is read.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_CHILD_PROCESS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"

namespace evenpack {

// It is killed with its owner, and with this process however that ends; Ctrl-C at a
// terminal is left to its owner. Not thread-safe.
class ChildProcess {
 public:
  struct Ending {
    // Its exit code, or that of the signal that ended it, in which case the other is 0.
    int code = 0;
    int signal = 0;
    // The last line that it wrote to standard error.
    std::string last_words;
  };

  // Starts `arguments`, of which the first is a program: a path, or a name that is
  // looked for in PATH. No shell reads them. `input`, a descriptor that stays the
  // caller's, becomes its standard input. To be called on a thread that outlives the
  // process. `interrupt` must outlive the object.
  // NOT_FOUND with the system's words where there is no such program; INTERNAL.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, int input, const Interrupt& interrupt);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Reads up to `size` bytes of its standard output, waiting for the first: how many, 0
  // at the end. CANCELLED if interrupted, INTERNAL.
  absl::StatusOr<size_t> Read(char* buffer, size_t size);
  // Read would not wait.
  bool IsReady() const;
  // Waits for its end, once there is no more output. At most once. CANCELLED if
  // interrupted.
  absl::StatusOr<Ending> Wait();

 private:
  ChildProcess(pid_t process, int output, int errors, const Interrupt& interrupt)
      : process_(process), output_(output), errors_(errors), interrupt_(interrupt) {}
  absl::Status Await(int output);
  void ReadErrors();

  pid_t process_;  // 0 once it was waited for
  const int output_;
  int errors_;  // -1 at its end
  const Interrupt& interrupt_;
  std::string last_errors_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_CHILD_PROCESS_H_
