// Many jobs at once on servers that share them: each has a producer that always has
// messages under way, and a consumer that takes every step.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_TRAFFIC_H_
#define EVENPACK_TESTS_BENCH_SERVICE_TRAFFIC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace evenpack::bench {

class Traffic {
 public:
  struct Options {
    std::vector<std::string> servers;
    size_t jobs = 1;
    // Messages of 64 documents that a producer has sent and that are not acknowledged.
    uint64_t under_way = 1;
  };

  // Creates the jobs at the servers by turns, so that each leads its share and none
  // moves, and begins. Ends the program where a call fails, then or later.
  explicit Traffic(const Options& options);
  // Cancels the calls.
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Acknowledged so far, of all jobs.
  uint64_t documents() const;
  // The least of any job.
  uint64_t documents_of_the_slowest() const;

 private:
  class Producer;
  struct Job;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_TRAFFIC_H_
