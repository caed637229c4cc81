#include "gpu_worker/attention/element_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace evenpack::worker {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ElementTypeTest, HaveNamesAndSizes) {
  EXPECT_EQ(ElementTypeName(ElementType::kFloat32), "float32");
  EXPECT_EQ(ElementTypeName(ElementType::kBfloat16), "bfloat16");
  EXPECT_EQ(ElementTypeName(ElementType::kFloat16), "float16");
  EXPECT_EQ(BytesOf(ElementType::kFloat32), 4U);
  EXPECT_EQ(BytesOf(ElementType::kBfloat16), 2U);
  EXPECT_EQ(BytesOf(ElementType::kFloat16), 2U);
}

TEST(ElementTypeTest, AreFoundByTheirNames) {
  for (const ElementType type : kElementTypes) {
    EXPECT_EQ(ElementTypeNamed(ElementTypeName(type)), type);
  }
  EXPECT_EQ(ElementTypeNamed("float8"), std::nullopt);
  EXPECT_EQ(ElementTypeNamed(""), std::nullopt);
}

// What is representable comes back: all 65,536 patterns.
TEST(ElementTypeTest, EveryHalfSurvivesTheWayOverAFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = FromFloat16(half);
    const float brain = FromBfloat16(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(FromFloat16(ToFloat16(wide))));
    } else {
      ASSERT_EQ(ToFloat16(wide), half) << bits;
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(FromBfloat16(ToBfloat16(brain))));
    } else {
      ASSERT_EQ(ToBfloat16(brain), half) << bits;
    }
  }
}

TEST(ElementTypeTest, KnownHalves) {
  EXPECT_EQ(FromFloat16(0x3c00), 1.0F);
  EXPECT_EQ(FromFloat16(0xc000), -2.0F);
  EXPECT_EQ(FromFloat16(0x7bff), 65504.0F);
  EXPECT_EQ(FromFloat16(0x0400), 0x1p-14F);
  EXPECT_EQ(FromFloat16(0x0001), 0x1p-24F);
  EXPECT_EQ(FromFloat16(0x7c00), kInfinity);
  EXPECT_EQ(FromFloat16(0xfc00), -kInfinity);
  EXPECT_TRUE(std::signbit(FromFloat16(0x8000)));
  EXPECT_EQ(FromBfloat16(0x3f80), 1.0F);
  EXPECT_EQ(FromBfloat16(0xff80), -kInfinity);
}

TEST(ElementTypeTest, RoundsToTheNearestTiesToEven) {
  struct Row {
    float value;
    uint16_t half;
    uint16_t brain;
  };
  const Row rows[] = {
      {1.0F + 0x1p-11F, 0x3c00, 0x3f80},             // halfway, down to even
      {1.0F + 3 * 0x1p-11F, 0x3c02, 0x3f80},         // halfway, up to even
      {1.0F + 0x1p-11F + 0x1p-20F, 0x3c01, 0x3f80},  // above halfway
      {1.0F + 0x1p-8F, 0x3c04, 0x3f80},              // halfway in brain floats
      {1.0F + 3 * 0x1p-8F, 0x3c0c, 0x3f82},
      {65519.0F, 0x7bff, 0x4780},
      {65520.0F, 0x7c00, 0x4780},  // halfway to what there isn't
      {-1e30F, 0xfc00, 0xf14a},
      {0x1p-25F, 0x0000, 0x3300},  // halfway to the smallest
      {3 * 0x1p-25F, 0x0002, 0x33c0},
      {std::numeric_limits<float>::max(), 0x7c00, 0x7f80},
      {-0.0F, 0x8000, 0x8000},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ToFloat16(row.value), row.half) << row.value;
    EXPECT_EQ(ToBfloat16(row.value), row.brain) << row.value;
  }
}

TEST(ElementTypeTest, LoadsWhatWasStored) {
  const std::vector<float> values = {0, 1, -2.5F, 0x1p-14F, 1024, -0.75F, 3};
  for (const ElementType type : kElementTypes) {
    std::vector<char> bytes(values.size() * BytesOf(type));
    Store(type, values.data(), values.size(), bytes.data());
    std::vector<float> loaded(values.size());
    Load(type, bytes.data(), values.size(), loaded.data());
    EXPECT_EQ(loaded, values) << ElementTypeName(type);
  }
}

}  // namespace
}  // namespace evenpack::worker
