#include "server/core/document/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace evenpack {
namespace {

TEST(LayoutNameTest, EveryLayoutHasANameOfItsOwn) {
  std::set<std::string> names;
  for (uint8_t number = 0; number <= static_cast<uint8_t>(Layout::kHfFlat); ++number) {
    names.emplace(LayoutName(static_cast<Layout>(number)));
  }
  EXPECT_EQ(names, (std::set<std::string>{"native", "megatron_thd", "te_thd",
                                          "pytorch_cp", "ring_llama3", "hf_flat"}));
  EXPECT_EQ(LayoutName(static_cast<Layout>(6)), "unknown");
}

}  // namespace
}  // namespace evenpack
