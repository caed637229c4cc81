#include "server/tls/memory_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;

std::string TextOf(std::istream& file) {
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t ChangeOf(const std::string& path) {
  struct stat seen = {};
  EXPECT_EQ(stat(path.c_str(), &seen), 0);
  return seen.st_mtime;
}

TEST(MemoryFileTest, IsReadByItsPathAsItWasLastReplaced) {
  MemoryFile file;
  EXPECT_EQ(file.path(), "");
  std::string path;
  for (const std::string& text :
       {std::string("first"), std::string(100'000, 'x'), std::string("")}) {
    ASSERT_THAT(file.Replace(text), IsOk());
    if (path.empty()) path = file.path();
    EXPECT_EQ(file.path(), path);
    std::ifstream read(path);
    EXPECT_EQ(TextOf(read), text);
  }
}

TEST(MemoryFileTest, WhoHasOpenedItReadsOnWhatWasThere) {
  MemoryFile file;
  ASSERT_THAT(file.Replace("old"), IsOk());
  std::ifstream old(file.path());
  ASSERT_THAT(file.Replace("new"), IsOk());
  EXPECT_EQ(TextOf(old), "old");
}

TEST(MemoryFileTest, EveryTextHasATimeOfItsOwn) {
  MemoryFile file;
  ASSERT_THAT(file.Replace("same"), IsOk());
  const int64_t first = ChangeOf(file.path());
  EXPECT_GT(first, 0) << "gRPC takes 0 for a file that it can't see";
  ASSERT_THAT(file.Replace("same"), IsOk());
  EXPECT_EQ(ChangeOf(file.path()), first + 1);
}

}  // namespace
}  // namespace evenpack
