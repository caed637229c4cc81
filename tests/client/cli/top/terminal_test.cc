#include "client/cli/top/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/client/cli/online/test_context.h"

namespace evenpack {
namespace {

using testing::StringOutput;

// Puts the environment back.
class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    for (const char* name : kNames) {
      const char* const value = std::getenv(name);
      before_.push_back(value == nullptr ? std::nullopt
                                         : std::optional<std::string>(value));
      unsetenv(name);
    }
  }
  ~TerminalTest() override {
    for (size_t i = 0; i < before_.size(); ++i) {
      unsetenv(kNames[i]);
      if (before_[i].has_value()) setenv(kNames[i], before_[i]->c_str(), 1);
    }
  }
  TerminalTest(const TerminalTest&) = delete;
  TerminalTest& operator=(const TerminalTest&) = delete;

  static constexpr const char* kNames[] = {"LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR"};
  std::vector<std::optional<std::string>> before_;
};

TEST_F(TerminalTest, WithoutATerminalTextIsPlainAndOf80Columns) {
  const FrameStyle style = StyleOf(std::nullopt);
  EXPECT_EQ(style.columns, 80U);
  EXPECT_FALSE(style.color);
  EXPECT_FALSE(style.unicode);
}

TEST_F(TerminalTest, ATerminalHasItsSizeAndColours) {
  const FrameStyle style = StyleOf(TerminalSize{123, 45});
  EXPECT_EQ(style.columns, 123U);
  EXPECT_EQ(style.rows, 45U);
  EXPECT_TRUE(style.color);
}

TEST_F(TerminalTest, ColoursCanBeDeclined) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(StyleOf(TerminalSize()).color);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(StyleOf(TerminalSize()).color);
}

TEST_F(TerminalTest, TheFirstLocaleThatIsSetSaysWhetherThereAreBlocks) {
  setenv("LANG", "en_US.UTF-8", 1);
  EXPECT_TRUE(StyleOf(std::nullopt).unicode);
  setenv("LC_CTYPE", "C.utf8", 1);
  EXPECT_TRUE(StyleOf(std::nullopt).unicode);
  setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(StyleOf(std::nullopt).unicode);
}

TEST_F(TerminalTest, TheScreenComesAndGoesAndFramesReplaceEachOther) {
  StringOutput out;
  {
    AlternateScreen screen(out);
    EXPECT_TRUE(screen.Show({"one", "two"}));
    EXPECT_TRUE(screen.Show({}));
  }
  EXPECT_EQ(out.text(),
            "\x1b[?1049h\x1b[?25l"
            "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J"
            "\x1b[H\x1b[K\x1b[J"
            "\x1b[?25h\x1b[?1049l");
}

}  // namespace
}  // namespace evenpack
