// How long a stream's tokens have waited of late, and what more of it is worth.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_MEAN_DELAY_H_
#define EVENPACK_SERVER_CORE_OUTLIER_MEAN_DELAY_H_

#include <cstdint>

namespace evenpack {

// A mean delay of one global batch.
inline constexpr uint64_t kDelayUnit = 4096;
// Of a stream that has not begun.
inline constexpr uint64_t kMeanDelayAtFirst = kDelayUnit / 8 * 5;

// The mean delay over the last dozen batches or so, once there is one more:
// `waiting_tokens` waited while it was admitted, of `batch_tokens` that a batch has
// (at least 1). By Little's law a token waits as many batches on average as wait.
uint64_t MeanDelayAfter(uint64_t mean_delay, uint64_t waiting_tokens,
                        uint64_t batch_tokens);

// What a delay of all tokens by one batch costs where they wait so long, in millionths
// of their workload: `price_ppm` (at most 2^32 - 1) from one batch on, and less with
// the square of what they wait below it, down to a quarter of a batch. So a stream that
// hardly waits gets its evenness for little delay, one that waits for long does not
// wait for much longer, and nowhere is the price so low that a document is forgotten,
// though one that is alone of its length may wait for hundreds of batches.
uint32_t DelayPricePpm(uint64_t mean_delay, uint32_t price_ppm);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_MEAN_DELAY_H_
