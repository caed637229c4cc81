#include "server/runtime/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/testing/descriptor_limit.h"

namespace evenpack {
namespace {

TEST(RaiseDescriptorLimitTest, TheSoftLimitIsTheHardOneThen) {
  const testing::DescriptorLimit few(100);
  RaiseDescriptorLimit();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

}  // namespace
}  // namespace evenpack
