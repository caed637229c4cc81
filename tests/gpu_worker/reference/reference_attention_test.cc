#include "gpu_worker/reference/reference_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace evenpack::worker {
namespace {

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_size = 64;
  return shape;
}

std::vector<double> Numbers(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    number = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  }
  return numbers;
}

struct Example {
  AttentionShape shape;
  std::vector<uint32_t> lengths;
  ReferenceInput input;

  Example(const AttentionShape& of, std::vector<uint32_t> documents)
      : shape(of), lengths(std::move(documents)) {
    size_t tokens = 0;
    for (const uint32_t length : lengths) tokens += length;
    input.lengths = lengths;
    input.query = Numbers(tokens * shape.query_row(), 1);
    input.key = Numbers(tokens * shape.kv_row(), 2);
    input.value = Numbers(tokens * shape.kv_row(), 3);
  }
};

TEST(ReferenceAttentionTest, ADocumentsFirstTokenSeesItselfAlone) {
  const Example example(SmallShape(), {1, 3});
  const ReferenceOutput result = ReferenceForward(example.shape, example.input);
  for (const size_t row : {0U, 1U}) {
    for (size_t head = 0; head < 4; ++head) {
      for (size_t i = 0; i < 64; ++i) {
        EXPECT_DOUBLE_EQ(result.output[(row * 4 + head) * 64 + i],
                         example.input.value[(row * 2 + head / 2) * 64 + i]);
      }
    }
  }
}

TEST(ReferenceAttentionTest, EqualKeysShareEqually) {
  Example example(SmallShape(), {4});
  std::fill(example.input.key.begin(), example.input.key.end(), 0.25);
  const ReferenceOutput result = ReferenceForward(example.shape, example.input);
  for (size_t i = 0; i < 64; ++i) {
    double mean = 0;
    for (size_t token = 0; token < 4; ++token) {
      mean += example.input.value[token * 128 + i] / 4;
    }
    EXPECT_NEAR(result.output[3 * 256 + i], mean, 1e-12);
  }
  // The scores are equal, so the sum of exponentials is four times one of them.
  double score = 0;
  for (size_t i = 0; i < 64; ++i) score += example.input.query[3 * 256 + i] * 0.25 / 8;
  EXPECT_NEAR(result.log_sum_exp[3 * 4], score + std::log(4), 1e-12);
}

TEST(ReferenceAttentionTest, DocumentsDoNotSeeEachOther) {
  const Example together(SmallShape(), {3, 2});
  ReferenceInput second;
  const std::vector<uint32_t> lengths = {2};
  second.lengths = lengths;
  second.query.assign(together.input.query.begin() + 3 * 256,
                      together.input.query.end());
  second.key.assign(together.input.key.begin() + 3 * 128, together.input.key.end());
  second.value.assign(together.input.value.begin() + 3 * 128,
                      together.input.value.end());
  const ReferenceOutput all = ReferenceForward(together.shape, together.input);
  const ReferenceOutput alone = ReferenceForward(together.shape, second);
  EXPECT_EQ(std::vector<double>(all.output.begin() + 3 * 256, all.output.end()),
            alone.output);
}

// A window of 2 sees what a document of the last two tokens does.
TEST(ReferenceAttentionTest, ASlidingWindowForgetsWhatIsBefore) {
  Example example(SmallShape(), {5});
  example.shape.sliding_window = 2;
  const ReferenceOutput windowed = ReferenceForward(example.shape, example.input);
  ReferenceInput last;
  const std::vector<uint32_t> lengths = {2};
  last.lengths = lengths;
  last.query.assign(example.input.query.end() - 2 * 256, example.input.query.end());
  last.key.assign(example.input.key.end() - 2 * 128, example.input.key.end());
  last.value.assign(example.input.value.end() - 2 * 128, example.input.value.end());
  const ReferenceOutput alone = ReferenceForward(SmallShape(), last);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(windowed.output[4 * 256 + i], alone.output[256 + i], 1e-12);
  }
}

// Against differences of the forward pass.
TEST(ReferenceAttentionTest, GradientsAreThoseOfTheForwardPass) {
  for (const uint32_t window : {0U, 2U}) {
    Example example(SmallShape(), {3, 1, 4});
    example.shape.sliding_window = window;
    const std::vector<double> weights = Numbers(example.input.query.size(), 4);
    const auto loss = [&] {
      const ReferenceOutput result = ReferenceForward(example.shape, example.input);
      double sum = 0;
      for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * result.output[i];
      return sum;
    };
    const ReferenceGradients gradients =
        ReferenceBackward(example.shape, example.input, weights);
    const auto check = [&](std::vector<double>& input,
                           const std::vector<double>& gradient) {
      for (size_t i = 5; i < input.size(); i += 97) {
        const double kept = input[i];
        input[i] = kept + 1e-5;
        const double above = loss();
        input[i] = kept - 1e-5;
        const double below = loss();
        input[i] = kept;
        EXPECT_NEAR(gradient[i], (above - below) / 2e-5, 1e-8) << i;
      }
    };
    check(example.input.query, gradients.query);
    check(example.input.key, gradients.key);
    check(example.input.value, gradients.value);
  }
}

}  // namespace
}  // namespace evenpack::worker
