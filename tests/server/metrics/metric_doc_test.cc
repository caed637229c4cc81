#include "tests/server/metrics/metric_doc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/file_bytes.h"
#include "tests/testing/source_file.h"

namespace evenpack {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MetricDoc;
using ::testing::Not;
using testing::WithTables;

std::string Documentation() {
  return testing::FileBytes(testing::SourceFile("docs/metrics.md"));
}

TEST(MetricDocTest, TheDocumentationIsAsItIsMade) {
  const std::string written = Documentation();
  const MetricDoc made = WithTables(written);
  EXPECT_THAT(made.misplaced, IsEmpty());
  EXPECT_EQ(made.text, written) << "run tests/server/metrics/make_doc.sh";
}

TEST(MetricDocTest, WhatStandsInATablesPlaceGoes) {
  const MetricDoc doc = WithTables(
      "before\n<!-- metrics: Process -->\n| an old row |\n<!-- end -->\nafter\n");
  EXPECT_TRUE(doc.text.starts_with("before\n<!-- metrics: Process -->\n| name |"));
  EXPECT_THAT(doc.text, HasSubstr("\n| `process_cpu_seconds_total` | counter |  | "));
  EXPECT_TRUE(doc.text.ends_with(" |\n<!-- end -->\nafter\n"));
  EXPECT_THAT(doc.text, Not(HasSubstr("an old row")));
}

TEST(MetricDocTest, SaysWhatHasNoPlaceAndWhatPlaceIsOfNothing) {
  const std::string of_nothing = "<!-- metrics: Proces -->\n<!-- end -->\n";
  EXPECT_THAT(WithTables(of_nothing).misplaced, Contains("Proces"));
  EXPECT_THAT(WithTables(of_nothing).misplaced, Contains("Process"));
  const std::string twice =
      "<!-- metrics: Worker -->\n<!-- end -->\n<!-- metrics: Worker -->\n";
  EXPECT_THAT(WithTables(twice).misplaced, Contains("Worker"));
  EXPECT_THAT(WithTables(twice).misplaced, Contains("end"));
}

}  // namespace
}  // namespace evenpack
