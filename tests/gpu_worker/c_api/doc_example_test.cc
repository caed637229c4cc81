// The trainer that docs/worker.md shows is the one that is compiled and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/file_bytes.h"
#include "tests/testing/source_file.h"

namespace evenpack::worker {
namespace {

TEST(DocExample, TheDocumentShowsTheTrainer) {
  const std::string program = evenpack::testing::FileBytes(
      evenpack::testing::SourceFile("tests/gpu_worker/c_api/c_trainer.c"));
  ASSERT_THAT(program, ::testing::HasSubstr("int main"));
  EXPECT_THAT(
      evenpack::testing::FileBytes(evenpack::testing::SourceFile("docs/worker.md")),
      ::testing::HasSubstr("```c\n" + program + "```\n"));
}

}  // namespace
}  // namespace evenpack::worker
