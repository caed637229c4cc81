#include "client/cpp/token_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/scratch_directory.h"

namespace evenpack::client {
namespace {

class TokenSourceTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(file_) << text; }

  const evenpack::testing::ScratchDirectory folder_;
  const std::string file_ = folder_.File("token");
  TokenSource source_{file_};
};

TEST_F(TokenSourceTest, HasWhatTheFileHasNow) {
  EXPECT_EQ(source_.Current(), "");
  Write("first\n");
  EXPECT_EQ(source_.Current(), "first");
  Write("other\n");
  EXPECT_EQ(source_.Current(), "other");
}

TEST_F(TokenSourceTest, KeepsTheLastWhereTheFileHasNone) {
  Write("first");
  EXPECT_EQ(source_.Current(), "first");
  Write("");
  EXPECT_EQ(source_.Current(), "first");
  std::filesystem::remove(file_);
  EXPECT_EQ(source_.Current(), "first");
}

}  // namespace
}  // namespace evenpack::client
