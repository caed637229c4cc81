#include "server/runtime/unique_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(UniqueNameTest, SaysWhatItIsOfAndWhichProcess) {
  const std::string name = UniqueName("agent");
  EXPECT_THAT(name, StartsWith("agent-"));
  EXPECT_THAT(name, HasSubstr(absl::StrCat("-", getpid(), "-")));
  EXPECT_LE(name.size(), 256);
}

TEST(UniqueNameTest, NoTwoAreAlike) {
  std::set<std::string> names;
  std::set<uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    names.insert(UniqueName("rank"));
    numbers.insert(DrawNumber());
  }
  EXPECT_EQ(names.size(), 1000);
  EXPECT_EQ(numbers.size(), 1000);
}

}  // namespace
}  // namespace evenpack
