// The trainer that docs/worker.md shows is the one that is compiled and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace evenpack::worker {
namespace {

std::string FileText(const std::string& path) {
  const std::ifstream file(EVENPACK_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DocExample, TheDocumentShowsTheTrainer) {
  const std::string program = FileText("tests/gpu_worker/c_api/c_trainer.c");
  ASSERT_THAT(program, ::testing::HasSubstr("int main"));
  EXPECT_THAT(FileText("docs/worker.md"),
              ::testing::HasSubstr("```c\n" + program + "```\n"));
}

}  // namespace
}  // namespace evenpack::worker
