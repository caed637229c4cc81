// On doubles of the driver and of cuDNN's plans.
#include "tests/gpu_worker/cudnn/negative_scores.h"

#include <gtest/gtest.h>

#include "tests/gpu_worker/cudnn/rank_on_doubles.h"

namespace evenpack::testing {
namespace {

TEST(NegativeScoresTest, BothEnginesGiveTheSame) {
  const auto rank = worker::CudaRank::Open(RankOnDoubles()).value();
  for (const auto type :
       {worker::ElementType::kBfloat16, worker::ElementType::kFloat16}) {
    for (const float score : {-120.0F, 0.0F}) {
      for (const uint32_t begin : {0U, 64U, 191U}) {
        const NegativeScores of = {.type = type,
                                   .head_size = 64,
                                   .sliding_window = begin == 64 ? 100U : 0U,
                                   .length = 192,
                                   .begin = begin,
                                   .score = score};
        ExpectSmall(ErrorsOf(*rank, of), of);
      }
    }
  }
}

}  // namespace
}  // namespace evenpack::testing
