// The two servers that service_bench compares, in the process of the benchmark.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_BENCH_SERVER_H_
#define EVENPACK_TESTS_BENCH_SERVICE_BENCH_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/control/job.h"

namespace evenpack::bench {

// evenpack-server's rooms with one job.
class PackingServer {
 public:
  struct Shape {
    uint32_t data_parallel = 1;
    uint32_t micro_batches_per_rank = 1;
    uint32_t context_parallel = 1;
  };

  // A wlb job "bench" of window 128K with the stream "a".
  explicit PackingServer(const Shape& shape);
  ~PackingServer();

  std::string address() const;
  Job& job() const;

 private:
  struct Rooms;
  const std::unique_ptr<Rooms> rooms_;
};

// Takes the same calls and does nothing with them: each message of Ingest is answered
// with how many documents came, and every caller of StreamSteps gets what Send is
// given, or as many messages as so many documents give.
class BareServer {
 public:
  // Every `documents_a_step` documents of Ingest lead to a message of `bytes_a_step`
  // bytes to each caller of StreamSteps; 0: none.
  explicit BareServer(uint64_t documents_a_step = 0, size_t bytes_a_step = 0);
  ~BareServer();

  std::string address() const;
  // Returns once so many have called StreamSteps.
  void WaitForCallers(size_t count);
  // To every caller of StreamSteps, one after another, in messages of `bytes` bytes.
  void Send(size_t bytes);

 private:
  struct Service;
  const std::unique_ptr<Service> service_;
};

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_BENCH_SERVER_H_
