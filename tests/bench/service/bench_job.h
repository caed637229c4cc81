// The job that evenpack-server is measured with, and how its clients reach it.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_BENCH_JOB_H_
#define EVENPACK_TESTS_BENCH_SERVICE_BENCH_JOB_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.grpc.pb.h"

namespace evenpack::bench {

struct BenchJob {
  std::string name = "bench";
  uint32_t data_parallel = 1;
  uint32_t micro_batches_per_rank = 1;
  uint32_t context_parallel = 1;
};

// Ends the program.
[[noreturn]] void EndWith(const grpc::Status& status);

// Over a connection of its own; without credentials an insecure one.
std::unique_ptr<v1::PackingService::Stub> Connect(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr);

// Policy wlb, window 128K, two queues, the stream "a". Ends the program where the
// server refuses.
void CreateJob(v1::PackingService::Stub& stub, const BenchJob& job);

// The given lengths over and over, from document `first` on.
v1::IngestRequest BatchOf(uint64_t first, size_t documents);

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_BENCH_JOB_H_
