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
  EXPECT_EQ(QuotedValue("\xff\xc3\xa9"), "'\\xff\xc3\xa9'");
  EXPECT_EQ(QuotedValue("\xc3"), "'\\xc3'");
}

TEST(QuotedValueTest, ShowsTextOfAnyLanguage) {
  EXPECT_EQ(QuotedValue("ströme 文書 😀"), "'ströme 文書 😀'");
}

TEST(QuotedValueTest, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(QuotedValue("\ufeff5"), "'\\xef\\xbb\\xbf5'");
  EXPECT_EQ(QuotedValue("a\u202eb"), "'a\\xe2\\x80\\xaeb'");
  EXPECT_EQ(QuotedValue("\u009b1m"), "'\\xc2\\x9b1m'");
  EXPECT_EQ(QuotedValue("a\u2028b"), "'a\\xe2\\x80\\xa8b'");
}

TEST(QuotedValueTest, CutsALongValue) {
  EXPECT_EQ(QuotedValue(std::string(60, '1')), "'" + std::string(60, '1') + "'");
  EXPECT_EQ(QuotedValue(std::string(61, '1')), "'" + std::string(60, '1') + "...'");
  EXPECT_EQ(QuotedValue(std::string(59, '1') + "ä"),
            "'" + std::string(59, '1') + "...'");
}

}  // namespace
}  // namespace evenpack
