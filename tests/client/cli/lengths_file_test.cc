#include "client/cli/lengths_file.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ReadLengths of a file with that content.
absl::StatusOr<std::vector<uint32_t>> Lengths(const std::string& text) {
  return ReadLengths(ScratchFile("lengths_file_test.txt", text));
}

TEST(ReadLengthsTest, ReadsOneLengthALine) {
  const auto lengths = Lengths("1\n2147483647\n007\n");
  ASSERT_THAT(lengths, IsOk());
  EXPECT_THAT(*lengths, ElementsAre(1, 2147483647, 7));
}

TEST(ReadLengthsTest, ToleratesBlanksCarriageReturnsAndEmptyLinesAtTheEnd) {
  const auto lengths = Lengths(" 5\t\r\n\t6 \r\n7\n\r\n  \n\n");
  ASSERT_THAT(lengths, IsOk());
  EXPECT_THAT(*lengths, ElementsAre(5, 6, 7));
}

TEST(ReadLengthsTest, NeedsNoLineEndAtTheEnd) {
  const auto lengths = Lengths("5\n6");
  ASSERT_THAT(lengths, IsOk());
  EXPECT_THAT(*lengths, ElementsAre(5, 6));
}

TEST(ReadLengthsTest, RefusesWhatIsNotALength) {
  for (const std::string bad :
       {"0", "-1", "+1", "1.5", "12x", "x", "1 2", "1e3", "0x10", "2147483648",
        "18446744073709551617", "99999999999999999999999", ""}) {
    EXPECT_THAT(
        Lengths("4\n" + bad + "\n4\n"),
        StatusIs(kInvalid, "line 2: '" + bad +
                               "' is not accepted; accepted: a document length in "
                               "tokens, 1 to 2147483647"))
        << bad;
  }
}

TEST(ReadLengthsTest, RefusesAFileWithoutDocuments) {
  for (const char* const empty : {"", "\n", " \r\n\n"}) {
    EXPECT_THAT(Lengths(empty),
                StatusIs(kInvalid, HasSubstr("a file without documents")));
  }
}

TEST(ReadLengthsTest, RefusesAMissingFileAndADirectory) {
  EXPECT_THAT(
      ReadLengths("/no/such/file"),
      StatusIs(kInvalid, HasSubstr("--lengths: '/no/such/file' (No such file")));
  EXPECT_THAT(
      ReadLengths(::testing::TempDir()),
      StatusIs(kInvalid, HasSubstr("(Is a directory) is not accepted; accepted: "
                                   "a readable file")));
}

// /dev/zero has neither an end nor a line.
TEST(ReadLengthsTest, DoesNotReadALineThatNeverEnds) {
  EXPECT_THAT(ReadLengths("/dev/zero"),
              StatusIs(kInvalid, AllOf(HasSubstr("line 1: '\\x00"),
                                       HasSubstr("1 to 2147483647"))));
}

TEST(CheckLengthsTest, NamesTheFirstLineThatIsTooLong) {
  const std::vector<uint32_t> lengths = {5, 10, 11, 12};
  EXPECT_THAT(CheckLengths(lengths, 12, "up to 12"), IsOk());
  EXPECT_THAT(CheckLengths(lengths, 10, "up to 10"),
              StatusIs(kInvalid, "line 3: '11' is not accepted; accepted: up to 10"));
}

}  // namespace
}  // namespace evenpack
