// What it costs to let a document wait.
#ifndef EVENPACK_SERVER_CORE_PACKING_DELAY_PRICE_H_
#define EVENPACK_SERVER_CORE_PACKING_DELAY_PRICE_H_

#include <algorithm>
#include <cstdint>

#include "absl/numeric/int128.h"
#include "server/core/document/document.h"

namespace evenpack {

struct DelayPrice {
  // Of one token's delay by one batch, picoseconds.
  int64_t token_ps = 0;
  // The batch admitted last.
  uint64_t batch = 0;
  // What such a delay of all of a step's tokens is of its workload, in millionths.
  uint32_t share_ppm = 0;

  absl::int128 OfTokens(int64_t tokens) const {
    return absl::int128(tokens) * token_ps / kPsPerNs;
  }
  // Nanoseconds. It rises with each batch that the document has waited, so that what is
  // old goes before what is new.
  absl::int128 Of(const Document& document) const {
    const uint64_t batches = batch - std::min(document.batch, batch) + 1;
    return absl::int128(document.length) * batches * token_ps / kPsPerNs;
  }

 private:
  static constexpr int64_t kPsPerNs = 1000;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_DELAY_PRICE_H_
