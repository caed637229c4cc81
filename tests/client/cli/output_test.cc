#include "client/cli/output.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstdio>

namespace evenpack {
namespace {

TEST(FileOutputTest, WritesAtOnce) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  FileOutput output(file);
  EXPECT_TRUE(output.Write("abc"));
  EXPECT_EQ(output.error(), 0);
  EXPECT_EQ(std::ftell(file), 3);
  std::fclose(file);
}

TEST(FileOutputTest, KeepsItsFirstError) {
  std::FILE* const file = std::fopen("/dev/full", "we");
  ASSERT_NE(file, nullptr);
  FileOutput output(file);
  EXPECT_FALSE(output.Write("abc"));
  EXPECT_EQ(output.error(), ENOSPC);
  EXPECT_FALSE(output.Write("def"));
  std::fclose(file);
}

}  // namespace
}  // namespace evenpack
