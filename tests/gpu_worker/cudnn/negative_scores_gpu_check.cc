// Rows whose scores are far below nought, on a device: docs/gpu-checks.md. Skipped
// where there is none.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/gpu_worker/cudnn/negative_scores.h"

namespace evenpack::testing {
namespace {

using worker::ElementType;

struct Slice {
  uint32_t begin;
  uint32_t length;
};
// Keys of 64 modulo 128, all of them or those before the slice, are what some of
// cuDNN's kernels mask wrongly (docs/adr/0082); the others are for comparison.
constexpr Slice kSlices[] = {{0, 64},    {0, 192},     {0, 704},   {0, 1216},
                             {0, 1280},  {0, 1000},    {64, 192},  {576, 704},
                             {64, 704},  {1152, 1216}, {64, 1280}, {937, 1000},
                             {192, 193}, {64, 65},     {64, 129}};

void CheckSlices(worker::CudaRank& rank, NegativeScores of) {
  for (const Slice& slice : kSlices) {
    of.begin = slice.begin;
    of.length = slice.length;
    for (const float score : {-120.0F, 0.0F}) {
      of.score = score;
      ExpectSmall(ErrorsOf(rank, of), of);
    }
  }
}

TEST(NegativeScoresGpuCheck, MakeNoNaNs) {
  // Backward in one run of all keys, and in two.
  for (const int64_t split_from : {int64_t{1} << 40, int64_t{1}}) {
    worker::CudaRankOptions options;
    options.attention.split_from = split_from;
    const auto rank = worker::CudaRank::Open(options);
    if (!rank.ok()) GTEST_SKIP() << rank.status();
    for (const auto type : {ElementType::kBfloat16, ElementType::kFloat16}) {
      for (const uint32_t head_size : {64U, 128U, 192U, 256U}) {
        for (const uint32_t window : {0U, 100U}) {
          // Backward those with a window are one run in any case.
          if (window != 0 && split_from == 1) continue;
          CheckSlices(**rank,
                      {.type = type, .head_size = head_size, .sliding_window = window});
        }
      }
    }
  }
}

}  // namespace
}  // namespace evenpack::testing
