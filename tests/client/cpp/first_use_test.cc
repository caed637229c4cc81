// The program that docs/client-cpp.md shows is the one that is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/file_bytes.h"

namespace evenpack::client {
namespace {

TEST(FirstUse, TheDocumentShowsTheProgram) {
  const std::string program = evenpack::testing::FileBytes(
      EVENPACK_SOURCE_DIR "/tests/client/cpp/first_use.cc");
  ASSERT_THAT(program, ::testing::HasSubstr("int main"));
  EXPECT_THAT(evenpack::testing::FileBytes(EVENPACK_SOURCE_DIR "/docs/client-cpp.md"),
              ::testing::HasSubstr("```cpp\n" + program + "```\n"));
}

}  // namespace
}  // namespace evenpack::client
