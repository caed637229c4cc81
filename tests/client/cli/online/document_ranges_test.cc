#include "client/cli/online/document_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DocumentRangesTest, ReadsOneAndSeveral) {
  const auto ranges =
      ReadDocumentRanges("--skip", "web:5:10,a:b:18446744073709551615:1");
  ASSERT_TRUE(ranges.ok());
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ((*ranges)[0].stream(), "web");
  EXPECT_EQ((*ranges)[0].first_sequence(), 5U);
  EXPECT_EQ((*ranges)[0].documents(), 10U);
  EXPECT_EQ((*ranges)[1].stream(), "a:b");
  EXPECT_EQ((*ranges)[1].first_sequence(), 18446744073709551615U);
}

TEST(DocumentRangesTest, AStreamsNameMayHaveCommas) {
  const auto ranges = ReadDocumentRanges("--skip", "a,b:5:10,c,,d:1:2,,e:6:7");
  ASSERT_TRUE(ranges.ok());
  ASSERT_EQ(ranges->size(), 3U);
  EXPECT_EQ((*ranges)[0].stream(), "a,b");
  EXPECT_EQ((*ranges)[0].documents(), 10U);
  EXPECT_EQ((*ranges)[1].stream(), "c,,d");
  EXPECT_EQ((*ranges)[2].stream(), ",e");
}

TEST(DocumentRangesTest, WhatIsNoRangeIsNamedWithWhatIs) {
  for (const char* text : {"", "web", "web:5", "web:5:", "web:5:0", "web:-1:5", ":5:1",
                           "web:5:10,", "web:x:10", "web:5:99999999999999999999",
                           "web:5:0,code:1:2", ":5:1,code:1:2"}) {
    EXPECT_THAT(ReadDocumentRanges("--skip", text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("accepted: STREAM:FIRST:COUNT")))
        << text;
  }
  EXPECT_THAT(ReadDocumentRanges("--documents", "web:1:1,web:5").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--documents: 'web:5' is not")));
}

}  // namespace
}  // namespace evenpack
