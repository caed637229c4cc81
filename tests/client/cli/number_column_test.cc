#include "client/cli/number_column.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/cli/index_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::AppendNumber;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;

TEST(LittleEndianTest, TakesTheLowestByteFirstAndTheHighestBitAsTheSign) {
  struct Row {
    std::string bytes;
    int64_t number;
  };
  const Row rows[] = {
      {std::string("\0", 1), 0},
      {"\x7f", 127},
      {"\x80", -128},
      {"\x01\x02", 513},
      {"\xff\xff\xff\x7f", 2147483647},
      {std::string("\0\0\0\x80", 4), -2147483648},
      {"\xff\xff\xff\xff\xff\xff\xff\xff", -1},
      {std::string("\0\0\0\0\0\0\0\x80", 8), INT64_MIN},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(LittleEndian(row.bytes.data(), row.bytes.size()), row.number);
  }
}

class NumberColumnTest : public ::testing::Test {
 protected:
  std::shared_ptr<const BinaryFile> File(const std::string& bytes) {
    std::ofstream(directory_.File("numbers"), std::ios::binary) << bytes;
    return std::make_shared<const BinaryFile>(
        BinaryFile::Open("--f", directory_.File("numbers"), "numbers").value());
  }

  ScratchDirectory directory_;
};

// Of more numbers than a block has, from a place that is no multiple of their width.
TEST_F(NumberColumnTest, ReadsEveryNumberInItsPlace) {
  std::mt19937_64 random(3);
  for (const size_t width : {1U, 4U, 8U}) {
    std::vector<int64_t> numbers;
    std::string bytes = "abc";
    for (int i = 0; i < 70'000; ++i) {
      AppendNumber(random(), width, bytes);
      numbers.push_back(LittleEndian(bytes.data() + bytes.size() - width, width));
    }
    NumberColumn column(File(bytes + "behind"), 3, numbers.size(), width);
    EXPECT_EQ(column.count(), numbers.size());
    std::vector<int64_t> read;
    while (column.position() < column.count()) {
      read.push_back(column.Next().value());
      ASSERT_EQ(column.latest_offset(), 3 + (read.size() - 1) * width);
    }
    EXPECT_TRUE(read == numbers) << width;
  }
}

TEST_F(NumberColumnTest, AFileThatEndsBeforeIsAnError) {
  NumberColumn column(File("12345678"), 4, 2, 4);
  EXPECT_THAT(column.Next(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      ::testing::HasSubstr("(ends at byte 8)")));
}

}  // namespace
}  // namespace evenpack
