#ifndef EVENPACK_TESTS_BENCH_SERVICE_PROCESSOR_SECONDS_H_
#define EVENPACK_TESTS_BENCH_SERVICE_PROCESSOR_SECONDS_H_

#include <ctime>

namespace evenpack::bench {

// Of this process, all threads together, so far.
inline double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_PROCESSOR_SECONDS_H_
