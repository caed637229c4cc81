#include "client/cli/top/frame_line.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

constexpr FrameStyle kAscii = {10, 24, false, false};
constexpr FrameStyle kUnicode = {10, 24, false, true};

TEST(FrameLineTest, TextIsCutOffAtTheLinesEnd) {
  FrameLine line(kAscii);
  line.Add("12345678");
  EXPECT_EQ(line.room(), 2U);
  line.Add("9abc").Add("d").Fill(3, Tone::kMean).Column(1, Tone::kMean);
  EXPECT_EQ(line.room(), 0U);
  EXPECT_EQ(line.Take(), "123456789a");
}

TEST(FrameLineTest, ATabGoesToItsColumnAndAtLeastOneOn) {
  EXPECT_EQ(FrameLine(kAscii).Add("ab").Tab(4).Add("c").Take(), "ab  c");
  EXPECT_EQ(FrameLine(kAscii).Add("abcd").Tab(4).Add("e").Take(), "abcd e");
  EXPECT_EQ(FrameLine(kAscii).Add("a").Tab(9).Take(), "a");
}

TEST(FrameLineTest, NamesCannotSpeakToTheTerminal) {
  EXPECT_EQ(FrameLine(kAscii).Add("a\x1b[2J\n\x7f\xff").Take(), "a?[2J???");
}

TEST(FrameLineTest, NamesHaveTheirLettersAndTheirColumns) {
  EXPECT_EQ(FrameLine(kUnicode).Add("größe 東京都").Add("x").Take(), "größe 東京");
  EXPECT_EQ(FrameLine(kUnicode).Add("größe").Tab(6).Add("x").Take(), "größe x");
  EXPECT_EQ(FrameLine(kAscii).Add("größe").Tab(6).Add("x").Take(), "gr??e x");
}

TEST(FrameLineTest, BarsAreBlocksOrAscii) {
  const auto bar = [](const FrameStyle& style) {
    return FrameLine(style)
        .Fill(2, Tone::kMean)
        .Fill(1, Tone::kExcess)
        .Fill(2, Tone::kOriginal)
        .Take();
  };
  EXPECT_EQ(bar(kAscii), "##+..");
  EXPECT_EQ(bar(kUnicode), "██▓░░");
}

TEST(FrameLineTest, ColumnsHaveEightHeightsAndWhatIsThereIsSeen) {
  FrameLine line(kUnicode);
  for (const double share : {1.0, 0.0, 0.001, 0.5, 0.94, 7.0}) {
    line.Column(share, Tone::kMean);
  }
  EXPECT_EQ(line.Take(), "█ ▁▄██");
  EXPECT_EQ(FrameLine(kAscii).Column(0.01, Tone::kMean).Column(1, Tone::kMean).Take(),
            ".@");
}

TEST(FrameLineTest, ColoursTakeNoRoomAndEndWithTheirText) {
  FrameStyle style = kUnicode;
  style.color = true;
  FrameLine line(style);
  line.Add("abcd", Tone::kTitle).Fill(9, Tone::kMean);
  EXPECT_EQ(line.room(), 0U);
  EXPECT_EQ(line.Take(), "\x1b[1mabcd\x1b[0m\x1b[36m██████\x1b[0m");
}

}  // namespace
}  // namespace evenpack
