// Orders of a rank's micro-batches that suit a pipeline: of unequal ones those that
// stand at the ends should be light, since there the other pipeline ranks wait.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_RANK_ORDER_H_
#define EVENPACK_SERVER_CORE_PIPELINE_RANK_ORDER_H_

#include <array>
#include <cstdint>
#include <span>

namespace evenpack {

enum class RankOrder : uint8_t {
  // Light ones at both ends by turns, the heaviest in the middle: 1 3 5 4 2.
  kHeaviestInside,
  // 1 2 3 4 5.
  kLightestFirst,
  // 2 3 4 5 1.
  kLightestLast,
  // 1 5 4 3 2.
  kHeaviestAfterLightest,
};

inline constexpr std::array kRankOrders = {
    RankOrder::kHeaviestInside, RankOrder::kLightestFirst, RankOrder::kLightestLast,
    RankOrder::kHeaviestAfterLightest};

// `lightest_first` in the order that is named; `to` has as many.
void Arrange(RankOrder order, std::span<const uint32_t> lightest_first,
             std::span<uint32_t> to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_RANK_ORDER_H_
