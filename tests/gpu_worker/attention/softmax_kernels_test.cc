#include "gpu_worker/attention/softmax_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ios>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace evenpack::worker {
namespace {

// Finite, and of all magnitudes.
std::vector<float> Values(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31F;
    value *= static_cast<float>(1U << (random() % 12));
  }
  return values;
}

std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(SoftmaxKernelsTest, EveryProcessorHasSomeEachOnce) {
  std::set<std::string> names;
  const std::vector<SoftmaxKernels> kernels = SoftmaxKernelsHere();
  for (const SoftmaxKernels& of : kernels) names.insert(of.vectors);
  ASSERT_GE(kernels.size(), 1);
  EXPECT_EQ(names.size(), kernels.size());
  EXPECT_STREQ(kernels.back().vectors, "128 bits");
}

TEST(SoftmaxKernelsTest, AllComputeTheSameToTheLastBit) {
  const std::vector<SoftmaxKernels> kernels = SoftmaxKernelsHere();
  const SoftmaxKernels& narrowest = kernels.back();
  for (const SoftmaxKernels& wider : kernels) {
    for (size_t count = 1; count < 300; ++count) {
      const std::vector<float> values = Values(count, count);
      const std::vector<float> factors = Values(count, 1000 + count);
      const float largest = narrowest.largest_of(values.data(), count);
      EXPECT_EQ(wider.largest_of(values.data(), count), largest);

      std::vector<float> expected = values;
      std::vector<float> powers = values;
      EXPECT_EQ(wider.exponentiate_row(powers.data(), count, largest),
                narrowest.exponentiate_row(expected.data(), count, largest));
      ASSERT_EQ(BitsOf(powers), BitsOf(expected)) << wider.vectors << ", " << count;

      wider.weigh_row(powers.data(), factors.data(), count, 0.3F);
      narrowest.weigh_row(expected.data(), factors.data(), count, 0.3F);
      ASSERT_EQ(BitsOf(powers), BitsOf(expected)) << wider.vectors << ", " << count;
    }
  }
}

TEST(SoftmaxKernelsTest, WhatIsNoNumberIsSeenToBeNone) {
  for (const SoftmaxKernels& kernels : SoftmaxKernelsHere()) {
    // Of either sign, quiet and signalling, the lowest and highest bits behind.
    for (const uint32_t bits :
         {0x7fc00000U, 0xffc00000U, 0x7fc00001U, 0x7fc00100U, 0x7f800001U, 0xff800001U,
          0x7fbfffffU, 0x7fffffffU, 0xffffffffU}) {
      for (size_t place = 0; place < 40; ++place) {
        std::vector<float> values(40, -1);
        std::memcpy(&values[place], &bits, sizeof(bits));
        const float sum = kernels.exponentiate_row(values.data(), values.size(), 0);
        EXPECT_NE(sum, sum) << kernels.vectors << ", " << std::hex << bits << std::dec
                            << ", " << place;
        EXPECT_NE(values[place], values[place]);
      }
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
