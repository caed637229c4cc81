#include "server/core/pipeline/rank_order.h"

#include <algorithm>
#include <cstddef>

namespace evenpack {

void Arrange(RankOrder order, std::span<const uint32_t> lightest_first,
             std::span<uint32_t> to) {
  const size_t count = lightest_first.size();
  std::copy(lightest_first.begin(), lightest_first.end(), to.begin());
  switch (order) {
    case RankOrder::kHeaviestInside:
      for (size_t i = 0; i < count; ++i) {
        to[i % 2 == 0 ? i / 2 : count - 1 - i / 2] = lightest_first[i];
      }
      break;
    case RankOrder::kLightestFirst:
      break;
    case RankOrder::kLightestLast:
      if (count > 1) std::rotate(to.begin(), to.begin() + 1, to.end());
      break;
    case RankOrder::kHeaviestAfterLightest:
      if (count > 1) std::reverse(to.begin() + 1, to.end());
      break;
  }
}

}  // namespace evenpack
