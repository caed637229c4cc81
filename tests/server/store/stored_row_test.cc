#include "server/store/stored_row.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace evenpack {
namespace {

TEST(StoredRowTest, ChecksumsTellTablesRowsAndBytesApart) {
  const std::set<std::string> checksums = {
      RowChecksum("records", 1, 2, "x"), RowChecksum("jobs", 1, 2, "x"),
      RowChecksum("records", 2, 2, "x"), RowChecksum("records", 1, 3, "x"),
      RowChecksum("records", 1, 2, "y"), RowChecksum("records", 1, 2, ""),
      ProfileChecksum("a", "bc"),        ProfileChecksum("ab", "c"),
      TokensChecksum(1, 2, 3, "x"),      TokensChecksum(1, 3, 2, "x")};
  EXPECT_EQ(checksums.size(), 10U);
  for (const std::string& checksum : checksums) EXPECT_EQ(checksum.size(), 16U);
}

}  // namespace
}  // namespace evenpack
