// An evenpack-server in a process of its own, so that what it takes can be told from
// what its clients take.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_SERVER_PROCESS_H_
#define EVENPACK_TESTS_BENCH_SERVICE_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace evenpack::bench {

class ServerProcess {
 public:
  struct Usage {
    double processor_seconds = 0;
    double resident_mib = 0;
    // The most that it was.
    double peak_mib = 0;
  };

  // Returns when it listens, on loopback. Ends the program where it doesn't come up.
  explicit ServerProcess(const std::string& program,
                         const std::string& store = "memory",
                         const std::vector<std::string>& more_flags = {});
  // Ends it with SIGTERM.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  void Kill();
  // So far, as /proc has it: seconds to a hundredth.
  Usage Now() const;

 private:
  pid_t process_ = 0;
  std::string address_;
};

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_SERVER_PROCESS_H_
