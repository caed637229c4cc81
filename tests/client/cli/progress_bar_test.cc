#include "client/cli/progress_bar.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

namespace evenpack {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kAlways(0);

TEST(ProgressBarTest, ShowsTheShareAndRemovesItself) {
  std::ostringstream stream;
  {
    ProgressBar bar(&stream, "packing", kAlways, [] { return 80; });
    bar.Update(1, 3);
    EXPECT_THAT(stream.str(),
                HasSubstr("packing [##########                    ] 33%"));
    bar.Update(5, 3);
    EXPECT_THAT(stream.str(), HasSubstr("] 100%"));
  }
  EXPECT_THAT(stream.str(), EndsWith("\r\x1b[K"));
}

TEST(ProgressBarTest, FitsIntoTheTerminal) {
  const struct {
    size_t columns;
    const char* line;
  } rows[] = {
      {46, "packing [##########                    ] 33%"},
      {45, "packing [#########                    ] 33%"},
      {21, "packing [#    ] 33%"},
      {20, "packing 33%"},
      {12, "packing 33%"},
      {11, "33%"},
      {4, "33%"},
      {3, ""},
      {0, ""},
  };
  for (const auto& row : rows) {
    std::ostringstream stream;
    ProgressBar bar(&stream, "packing", kAlways, [&row] { return row.columns; });
    bar.Update(1, 3);
    EXPECT_EQ(stream.str(), std::string("\r") + row.line + "\x1b[K") << row.columns;
  }
}

TEST(ProgressBarTest, WritesNothingForShortWorkOrWithoutAStream) {
  std::ostringstream stream;
  {
    ProgressBar bar(&stream, "packing", std::chrono::hours(1));
    bar.Update(1, 3);
    ProgressBar none(nullptr, "packing", kAlways);
    none.Update(1, 3);
    ProgressBar empty(&stream, "packing", kAlways);
    empty.Update(0, 0);
  }
  EXPECT_EQ(stream.str(), "");
}

}  // namespace
}  // namespace evenpack
