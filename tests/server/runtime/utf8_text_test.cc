#include "server/runtime/utf8_text.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(FirstCharacterTest, HasItsCodeAndBytes) {
  const struct {
    std::string_view text;
    char32_t code;
    size_t bytes;
  } rows[] = {
      {std::string_view("\0a", 2), 0, 1},
      {"\x7f", 0x7f, 1},
      {"\xc2\x80", 0x80, 2},
      {"äa", 0xe4, 2},
      {"\xdf\xbf", 0x7ff, 2},
      {"\xe0\xa0\x80", 0x800, 3},
      {"\xed\x9f\xbf", 0xd7ff, 3},
      {"\xee\x80\x80", 0xe000, 3},
      {"\xf0\x90\x80\x80", 0x10000, 4},
      {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
  };
  for (const auto& row : rows) {
    const Utf8Character character = FirstCharacter(row.text);
    EXPECT_EQ(character.code, row.code) << row.text;
    EXPECT_EQ(character.bytes, row.bytes) << row.text;
  }
}

TEST(FirstCharacterTest, IsNoneOfBytesThatAreNoUtf8) {
  const std::string_view rows[] = {
      "",                  // nothing
      "\x80",              // a later byte alone
      "\xc3",              // cut off
      "\xe2\x82",          // cut off
      "\xc3(",             // another character begins
      "\xc0\xaf",          // longer than need be
      "\xe0\x9f\xbf",      // longer than need be
      "\xf0\x8f\xbf\xbf",  // longer than need be
      "\xed\xa0\x80",      // a surrogate
      "\xf4\x90\x80\x80",  // above the last code
      "\xf8\x88\x80\x80\x80",
      "\xff",
  };
  for (const std::string_view text : rows) {
    EXPECT_EQ(FirstCharacter(text).bytes, 0) << text;
  }
}

TEST(IsUtf8Test, LooksAtEachCharacter) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("aä😀"));
  EXPECT_FALSE(IsUtf8("ä\xff"));
  EXPECT_FALSE(IsUtf8("aä\xf0\x9f\x98"));
}

TEST(BeginningOfTest, EndsBetweenCharacters) {
  EXPECT_EQ(BeginningOf("aäb", 4), "aäb");
  EXPECT_EQ(BeginningOf("aäb", 3), "aä");
  EXPECT_EQ(BeginningOf("aäb", 2), "a");
  EXPECT_EQ(BeginningOf("a😀b", 4), "a");
  EXPECT_EQ(BeginningOf("a😀b", 5), "a😀");
  EXPECT_EQ(BeginningOf("😀", 2), "");
  EXPECT_EQ(BeginningOf("ab", 0), "");
}

TEST(BeginningOfTest, CutsBytesThatAreNoTextWhereItIs) {
  EXPECT_EQ(BeginningOf("\x80\x80\x80\x80\x80\x80", 5).size(), 5);
  EXPECT_EQ(BeginningOf("aa\xf0\xff\xff", 3).size(), 3);
}

TEST(ColumnsOfTest, CountsCharacters) {
  EXPECT_EQ(ColumnsOf(""), 0);
  EXPECT_EQ(ColumnsOf("abc"), 3);
  EXPECT_EQ(ColumnsOf("ströme"), 6);
}

}  // namespace
}  // namespace evenpack
