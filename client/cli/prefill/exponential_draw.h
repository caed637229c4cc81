// Random waiting times that every machine draws alike.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_EXPONENTIAL_DRAW_H_
#define EVENPACK_CLIENT_CLI_PREFILL_EXPONENTIAL_DRAW_H_

#include <cstdint>
#include <random>
#include <string_view>

namespace evenpack {

// The name of the draw below, which reports carry.
inline constexpr std::string_view kArrivalDrawName = "von_neumann_mt19937_64";

// An exponentially distributed number of mean `mean`, rounded down, by comparisons of
// the generator's numbers alone (von Neumann, "Various techniques used in connection
// with random digits", 1951): no logarithm, which machines round differently. Draws
// numbers that fall, as long as they do; where an odd number of them did, the first, as
// a part of 2^64, is the fraction, else one is added to the whole part and all begins
// again. mean <= 2^53.
uint64_t DrawExponential(uint64_t mean, std::mt19937_64& generator);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_EXPONENTIAL_DRAW_H_
