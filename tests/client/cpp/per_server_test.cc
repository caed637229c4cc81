#include "client/cpp/per_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace evenpack::client {
namespace {

using ::testing::ElementsAre;

class PerServerTest : public ::testing::Test {
 protected:
  std::vector<std::string> made_;
  PerServer<std::string> things_{{"a", "b"}, [this](const std::string& address) {
                                   made_.push_back(address);
                                   return std::make_shared<std::string>(address);
                                 }};
};

TEST_F(PerServerTest, ThoseOfGivenServersAreMadeAtOnceAndOthersWhenUsed) {
  EXPECT_THAT(made_, ElementsAre("a", "b"));
  EXPECT_EQ(*things_.At("b"), "b");
  EXPECT_EQ(*things_.At("x"), "x");
  EXPECT_EQ(things_.At("x"), things_.At("x"));
  EXPECT_THAT(made_, ElementsAre("a", "b", "x"));
}

TEST_F(PerServerTest, OfOthersTheLeastUsedIsDropped) {
  const std::weak_ptr<std::string> given = things_.At("a");
  const std::weak_ptr<std::string> used = things_.At("used");
  const std::weak_ptr<std::string> unused = things_.At("unused");
  const std::shared_ptr<std::string> held = things_.At("held");
  for (size_t i = 0; i < PerServer<std::string>::kMostOthers; ++i) {
    things_.At(absl::StrCat(i));
    things_.At("used");
  }
  EXPECT_FALSE(given.expired());
  EXPECT_FALSE(used.expired());
  EXPECT_TRUE(unused.expired());
  EXPECT_EQ(*held, "held");
  EXPECT_NE(things_.At("held"), held);
}

}  // namespace
}  // namespace evenpack::client
