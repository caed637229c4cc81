// The program that docs/client-cpp.md shows is the one that is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace evenpack::client {
namespace {

std::string FileText(const std::string& path) {
  const std::ifstream file(EVENPACK_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(FirstUse, TheDocumentShowsTheProgram) {
  const std::string program = FileText("tests/client/cpp/first_use.cc");
  ASSERT_THAT(program, ::testing::HasSubstr("int main"));
  EXPECT_THAT(FileText("docs/client-cpp.md"),
              ::testing::HasSubstr("```cpp\n" + program + "```\n"));
}

}  // namespace
}  // namespace evenpack::client
