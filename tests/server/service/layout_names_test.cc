#include "server/service/layout_names.h"

#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

TEST(LayoutNamesTest, EveryLayoutOfTheApiIsTheEnginesOfTheSameName) {
  for (int number = v1::Layout_MIN; number <= v1::Layout_MAX; ++number) {
    const auto layout = static_cast<v1::Layout>(number);
    const std::optional<Layout> engine = FromProto(layout);
    if (layout == v1::LAYOUT_UNSPECIFIED) {
      EXPECT_EQ(engine, std::nullopt);
      continue;
    }
    ASSERT_TRUE(engine.has_value()) << v1::Layout_Name(layout);
    EXPECT_EQ(v1::Layout_Name(layout),
              absl::StrCat("LAYOUT_", absl::AsciiStrToUpper(LayoutName(*engine))));
  }
  EXPECT_EQ(FromProto(static_cast<v1::Layout>(77)), std::nullopt);
}

TEST(LayoutNamesTest, ShardingsGoThereAndBack) {
  for (int number = v1::Sharding_MIN; number <= v1::Sharding_MAX; ++number) {
    const auto sharding = static_cast<v1::Sharding>(number);
    const std::optional<Sharding> engine = FromProto(sharding);
    EXPECT_EQ(engine.has_value(), sharding != v1::SHARDING_UNSPECIFIED);
    if (!engine.has_value()) continue;
    EXPECT_EQ(ToProto(*engine), sharding);
  }
  EXPECT_EQ(ToProto(Sharding::kAdaptive), v1::SHARDING_ADAPTIVE);
  EXPECT_EQ(ToProto(Sharding::kHybrid), v1::SHARDING_HYBRID);
  EXPECT_EQ(ToProto(Sharding::kContiguous), v1::SHARDING_CONTIGUOUS);
  EXPECT_EQ(FromProto(static_cast<v1::Sharding>(77)), std::nullopt);
}

}  // namespace
}  // namespace evenpack
