#include "server/core/outlier/mean_delay.h"

#include <algorithm>

#include "absl/numeric/int128.h"

namespace evenpack {
namespace {

constexpr int64_t kBatchesRemembered = 12;
// So that nothing overflows; a job admits nothing more long before.
constexpr uint64_t kMostDelay = uint64_t{1} << 40;

}  // namespace

uint64_t MeanDelayAfter(uint64_t mean_delay, uint64_t waiting_tokens,
                        uint64_t batch_tokens) {
  const absl::uint128 now = absl::uint128(waiting_tokens) * kDelayUnit / batch_tokens;
  // A state that was read may say anything.
  const auto before = static_cast<int64_t>(std::min(mean_delay, kMostDelay));
  const auto change =
      static_cast<int64_t>(std::min<absl::uint128>(now, kMostDelay)) - before;
  return static_cast<uint64_t>(before + change / kBatchesRemembered);
}

uint32_t DelayPricePpm(uint64_t mean_delay, uint32_t price_ppm) {
  const uint64_t delay = std::clamp(mean_delay, kDelayUnit / 4, kDelayUnit);
  return static_cast<uint32_t>(delay * delay * price_ppm / (kDelayUnit * kDelayUnit));
}

}  // namespace evenpack
