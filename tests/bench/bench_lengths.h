// The document lengths that benchmarks draw from.
#ifndef EVENPACK_TESTS_BENCH_BENCH_LENGTHS_H_
#define EVENPACK_TESTS_BENCH_BENCH_LENGTHS_H_

#include <cstdint>
#include <vector>

namespace evenpack {

// deploy/data/lengths/wlbllm.txt, in its order. Ends the program where it is missing.
const std::vector<uint32_t>& GivenLengths();

}  // namespace evenpack

#endif  // EVENPACK_TESTS_BENCH_BENCH_LENGTHS_H_
