// The program that docs/client-cpp.md shows is the one that is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/file_bytes.h"
#include "tests/testing/source_file.h"

namespace evenpack::client {
namespace {

TEST(FirstUse, TheDocumentShowsTheProgram) {
  const std::string program = evenpack::testing::FileBytes(
      evenpack::testing::SourceFile("tests/client/cpp/first_use.cc"));
  ASSERT_THAT(program, ::testing::HasSubstr("int main"));
  EXPECT_THAT(
      evenpack::testing::FileBytes(evenpack::testing::SourceFile("docs/client-cpp.md")),
      ::testing::HasSubstr("```cpp\n" + program + "```\n"));
}

}  // namespace
}  // namespace evenpack::client
