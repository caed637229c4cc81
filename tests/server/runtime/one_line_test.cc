#include "server/runtime/one_line.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(OnOneLineTest, EscapesLineEndsAndTabs) {
  EXPECT_EQ(OnOneLine("a\r\n\tb"), "a\\x0d\\n\\x09b");
}

TEST(OnOneLineTest, EscapesWhatIsNoCharacterOrCannotBeSeen) {
  EXPECT_EQ(OnOneLine("\xff, ströme\u202e"), "\\xff, ströme\\xe2\\x80\\xae");
}

}  // namespace
}  // namespace evenpack
