#include "client/cli/quoted_value.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(QuotedValueTest, ShowsAValueOnOneLine) {
  EXPECT_EQ(QuotedValue("12x"), "'12x'");
  EXPECT_EQ(QuotedValue(""), "''");
  EXPECT_EQ(QuotedValue("a\nb\x1b[0m\t"), "'a\\nb\\x1b[0m\\x09'");
  EXPECT_EQ(QuotedValue(std::string_view("\0", 1)), "'\\x00'");
}

TEST(QuotedValueTest, EscapesWhatMayNotBeText) {
  EXPECT_EQ(QuotedValue("\xff\xc3\xa9"), "'\\xff\\xc3\\xa9'");
}

TEST(QuotedValueTest, CutsALongValue) {
  EXPECT_EQ(QuotedValue(std::string(60, '1')), "'" + std::string(60, '1') + "'");
  EXPECT_EQ(QuotedValue(std::string(61, '1')), "'" + std::string(60, '1') + "...'");
}

TEST(OnOneLineTest, EscapesLineEnds) { EXPECT_EQ(OnOneLine("a\r\nb"), "a\\x0d\\nb"); }

}  // namespace
}  // namespace evenpack
