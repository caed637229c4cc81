#include "client/cli/line_reader.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file that is written while it is read.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    CloseWriter();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void Write(const std::string& text) const {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  LineReader Reader(size_t longest = 100) const {
    auto file = InputFile::Open("--f", "/dev/fd/" + std::to_string(ends_[0]), "a file");
    EXPECT_THAT(file, IsOk());
    return {*std::move(file), longest, "a word"};
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

std::vector<std::string> Rest(LineReader& reader) {
  std::vector<std::string> lines;
  while (true) {
    const auto line = reader.Next();
    EXPECT_THAT(line, IsOk());
    if (!line.ok() || !line->has_value()) return lines;
    lines.emplace_back(**line);
  }
}

TEST(LineReaderTest, GivesLinesWithoutBlanksAroundThem) {
  Pipe pipe;
  pipe.Write(" a b\t\r\nc\n\td \n \r\n\n");
  pipe.CloseWriter();
  LineReader reader = pipe.Reader();
  EXPECT_THAT(Rest(reader), ElementsAre("a b", "c", "d"));
}

TEST(LineReaderTest, TheLastLineNeedsNoEnd) {
  Pipe pipe;
  pipe.Write("a\nb");
  pipe.CloseWriter();
  LineReader reader = pipe.Reader();
  EXPECT_THAT(Rest(reader), ElementsAre("a", "b"));
}

TEST(LineReaderTest, PutsLinesTogetherThatCameInParts) {
  Pipe pipe;
  LineReader reader = pipe.Reader();
  pipe.Write("ab");
  EXPECT_TRUE(reader.IsReady());
  pipe.Write("c\nd");
  EXPECT_EQ(**reader.Next(), "abc");
  EXPECT_FALSE(reader.IsReady());
  pipe.Write("e\n");
  EXPECT_TRUE(reader.IsReady());
  EXPECT_EQ(**reader.Next(), "de");
}

TEST(LineReaderTest, KeepsLinesWholeAcrossBlocks) {
  Pipe pipe;
  LineReader reader = pipe.Reader(1U << 20U);
  const std::string line(40'000, 'x');
  for (int i = 0; i < 20; ++i) {
    pipe.Write(line + "\n");
    const auto read = reader.Next();
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(**read, line);
  }
}

TEST(LineReaderTest, NamesAnEmptyLineBeforeAnother) {
  Pipe pipe;
  pipe.Write("a\n\n \nb\n");
  pipe.CloseWriter();
  LineReader reader = pipe.Reader();
  EXPECT_EQ(**reader.Next(), "a");
  EXPECT_THAT(reader.Next(),
              StatusIs(kInvalid, "line 2: '' is not accepted; accepted: a word"));
}

TEST(LineReaderTest, RefusesALineThatIsTooLongBeforeItsEnd) {
  Pipe pipe;
  pipe.Write("a\n12345");
  LineReader reader = pipe.Reader(4);
  EXPECT_EQ(**reader.Next(), "a");
  EXPECT_THAT(reader.Next(),
              StatusIs(kInvalid, "line 2: '12345' is not accepted; accepted: a word"));
}

TEST(LineReaderTest, RefusesTheLatestLine) {
  Pipe pipe;
  pipe.Write("a\nb\n");
  LineReader reader = pipe.Reader();
  EXPECT_EQ(**reader.Next(), "a");
  EXPECT_EQ(**reader.Next(), "b");
  EXPECT_THAT(reader.Refuse(), StatusIs(kInvalid, HasSubstr("line 2: 'b' is not")));
}

TEST(LineReaderTest, StopsWaitingWhereItIsInterrupted) {
  Pipe pipe;
  Interrupt interrupt;
  LineReader reader = pipe.Reader();
  reader.file().StopOn(interrupt);
  pipe.Write("a\nb");
  EXPECT_EQ(**reader.Next(), "a");
  interrupt.Request();
  EXPECT_THAT(reader.Next(), StatusIs(absl::StatusCode::kCancelled, "interrupted"));
}

}  // namespace
}  // namespace evenpack
