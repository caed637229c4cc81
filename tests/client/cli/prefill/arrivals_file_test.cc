#include "client/cli/prefill/arrivals_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchPath;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReadArrivalsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<int64_t>> Read(const std::string& text, size_t count) {
    std::ofstream(path_) << text;
    return ReadArrivals(path_, count);
  }

  const std::string path_ = ScratchPath("arrivals_file_test.txt");
};

TEST_F(ReadArrivalsTest, TakesSecondsWithAndWithoutAFraction) {
  const auto arrivals = Read("0\n0.5\n0.500000001\n 3\r\n3\n8640000\nnot reached\n", 6);
  ASSERT_THAT(arrivals, IsOk());
  EXPECT_THAT(*arrivals, ElementsAre(0, 500'000'000, 500'000'001, 3'000'000'000,
                                     3'000'000'000, kMostArrivalNs));
}

TEST_F(ReadArrivalsTest, NamesTheLineThatItRefuses) {
  for (const char* bad : {"x", "-1", "1e3", ".5", "5.", "1.2.3", "1.0000000001",
                          "8640000.1", "99999999", "0.9", "+2"}) {
    EXPECT_THAT(Read(std::string("1\n") + bad + "\n9\n", 3),
                StatusIs(kInvalid, HasSubstr(std::string("line 2: '") + bad + "'")))
        << bad;
  }
}

TEST_F(ReadArrivalsTest, NeedsALineForEachRequest) {
  EXPECT_THAT(Read("1\n2\n", 3),
              StatusIs(kInvalid, AllOf(HasSubstr("--arrivals-file"),
                                       HasSubstr("2 lines"), HasSubstr("3 requests"))));
  EXPECT_THAT(ReadArrivals("/nowhere/at/all", 1),
              StatusIs(kInvalid, HasSubstr("--arrivals-file")));
}

}  // namespace
}  // namespace evenpack
