// The two servers that service_bench compares, in the process of the benchmark.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_BENCH_SERVER_H_
#define EVENPACK_TESTS_BENCH_SERVICE_BENCH_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"

namespace evenpack::bench {

// evenpack-server's rooms with one job.
class PackingServer {
 public:
  struct Shape {
    uint32_t data_parallel = 1;
    uint32_t micro_batches_per_rank = 1;
    uint32_t context_parallel = 1;
    // As OpenStore names it.
    std::string store = "memory";
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
// given, or one step over and over.
class BareServer {
 public:
  BareServer();
  // Every `documents_a_step` documents of Ingest lead to the message `step` to each
  // caller of StreamSteps, encoded for each.
  BareServer(uint64_t documents_a_step, v1::StreamStepsResponse step);
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
