#include "client/cli/text_table.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(TextTableTest, AlignsColumns) {
  TextTable table({{"name", TextTable::Align::kLeft},
                   {"n", TextTable::Align::kRight},
                   {"bar", TextTable::Align::kLeft}});
  table.AddRow({"a", "100", "##"});
  table.AddRow({"longer", "1", ""});
  EXPECT_EQ(table.ToString(),
            "name      n  bar\n"
            "a       100  ##\n"
            "longer    1\n");
}

TEST(TextTableTest, AlignsNamesOfAnyLanguage) {
  TextTable table({{"stream", TextTable::Align::kLeft}, {"n"}});
  table.AddRow({"ströme", "1"});
  table.AddRow({"b", "2"});
  EXPECT_EQ(table.ToString(),
            "stream  n\n"
            "ströme  1\n"
            "b       2\n");
}

TEST(BarTest, IsInProportion) {
  EXPECT_EQ(Bar(5, 10, 4), "##");
  EXPECT_EQ(Bar(10, 10, 4), "####");
  EXPECT_EQ(Bar(11, 10, 4), "####");
  EXPECT_EQ(Bar(0.01, 10, 4), "#");
  EXPECT_EQ(Bar(0, 10, 4), "");
  EXPECT_EQ(Bar(0, 0, 4), "");
}

TEST(GroupedTest, SetsCommas) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

TEST(MicrosecondsTest, HaveOneDecimal) {
  EXPECT_EQ(Microseconds(0), "0.0");
  EXPECT_EQ(Microseconds(1'234'567), "1234.6");
  EXPECT_EQ(Microseconds(-49'960), "-50.0");
}

}  // namespace
}  // namespace evenpack
