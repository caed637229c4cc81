// A corpus's lengths in a few figures.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_LENGTH_SUMMARY_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_LENGTH_SUMMARY_H_

#include <cstdint>
#include <span>

namespace evenpack {

// In tokens; percentiles by nearest rank. All 0 for no documents.
struct LengthSummary {
  double mean = 0;
  uint32_t p50 = 0;
  uint32_t p90 = 0;
  uint32_t p99 = 0;
  uint32_t max = 0;
  // Share of tokens in documents of a quarter window or more.
  double long_token_share = 0;
};

LengthSummary Summarise(std::span<const uint32_t> lengths, uint32_t window);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_LENGTH_SUMMARY_H_
