#include "client/cli/prefill/exponential_draw.h"

#include "absl/numeric/int128.h"

namespace evenpack {

uint64_t DrawExponential(uint64_t mean, std::mt19937_64& generator) {
  for (uint64_t whole = 0;; ++whole) {
    const uint64_t first = generator();
    uint64_t last = first;
    bool odd = true;
    for (uint64_t next = generator(); next < last; next = generator()) {
      last = next;
      odd = !odd;
    }
    if (!odd) continue;
    return whole * mean + absl::Uint128High64(absl::uint128(first) * mean);
  }
}

}  // namespace evenpack
