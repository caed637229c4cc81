#include "client/cli/top/shown_text.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

constexpr size_t kAll = 80;

TEST(ShownTextTest, LettersAreShownAndCountTheirColumns) {
  const ShownText shown = TextInFrame("Köln-Ωж 東京", true, kAll);
  EXPECT_EQ(shown.text, "Köln-Ωж 東京");
  EXPECT_EQ(shown.columns, 12U);
}

TEST(ShownTextTest, WithoutUnicodeACharacterIsOneQuestionMark) {
  const ShownText shown = TextInFrame("Köln 東京", false, kAll);
  EXPECT_EQ(shown.text, "K?ln ??");
  EXPECT_EQ(shown.columns, 7U);
}

TEST(ShownTextTest, WhatMayTakeAnyNumberOfColumnsIsNotShown) {
  // A mark upon a letter, a soft hyphen, Hebrew, which turns a line, and a picture.
  EXPECT_EQ(TextInFrame("e\u0301\u00ad\u05d0\U0001f600", true, kAll).text, "e????");
}

TEST(ShownTextTest, ItCannotSpeakToTheTerminal) {
  for (const bool unicode : {false, true}) {
    EXPECT_EQ(TextInFrame("a\x1b[2J\n\x7f\u009b\u202e\u202c", unicode, kAll).text,
              "a?[2J?????");
  }
}

TEST(ShownTextTest, BytesThatAreNoCharacterAreAQuestionMarkEach) {
  const ShownText shown = TextInFrame("a\xff\xe6\x9d z", true, kAll);
  EXPECT_EQ(shown.text, "a??? z");
  EXPECT_EQ(shown.columns, 6U);
}

TEST(ShownTextTest, ItIsCutBetweenCharactersWhereTheyHaveNoRoom) {
  EXPECT_EQ(TextInFrame("aö東京", true, 4).text, "aö東");
  EXPECT_EQ(TextInFrame("aö東京", true, 5).text, "aö東");
  EXPECT_EQ(TextInFrame("aö東京", true, 5).columns, 4U);
  EXPECT_EQ(TextInFrame("aö東京", true, 0).text, "");
}

}  // namespace
}  // namespace evenpack
