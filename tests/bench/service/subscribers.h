// Many subscribers of StreamSteps that count and time what they get.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_SUBSCRIBERS_H_
#define EVENPACK_TESTS_BENCH_SERVICE_SUBSCRIBERS_H_

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace evenpack::bench {

using TimePoint = std::chrono::steady_clock::time_point;

// Connections are shared by turns.
class Subscribers {
 public:
  struct Options {
    std::string address;
    size_t count = 1;
    size_t connections = 16;
    // Subscriber i is DP rank i / context_parallel mod data_parallel, CP rank i mod
    // context_parallel.
    uint32_t data_parallel = 1;
    uint32_t context_parallel = 1;
    // Every 8th step is marked received, every 16th by the first CP rank of each DP
    // rank as durable. Else all come unasked.
    bool acknowledge = true;
    // Decodes what it gets.
    bool decode = false;
    std::string job = "bench";
    // Of every connection; null: insecure.
    std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  };

  explicit Subscribers(const Options& options);
  // Cancels the calls.
  ~Subscribers();

  // Returns when every subscription is answered. A bare server doesn't answer any.
  void WaitUntilSubscribed() const;
  // Returns when every subscriber has got `steps` steps in all.
  void WaitFor(size_t steps) const;
  // When a subscriber got its step number `step`, counted from its first.
  TimePoint Arrival(size_t subscriber, size_t step) const;
  size_t count() const;
  // Of all steps so far.
  uint64_t bytes() const;

 private:
  class Call;
  struct Shared;
  const std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Call>> calls_;
};

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_SUBSCRIBERS_H_
