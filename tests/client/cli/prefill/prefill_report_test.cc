#include "client/cli/prefill/prefill_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/json_text.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PrefillReport Report() {
  PrefillReport report;
  report.arrivals = "bursty";
  report.rate = 2.5;
  report.seed = 3;
  report.limits = {8, 16'384, 32'768};
  report.offered_load = 0.75;
  PrefillFigures figures;
  figures.requests = 1234;
  figures.tokens = 567'890;
  figures.batches = 45;
  figures.ttft_p99 = 6.5;
  figures.idle_share = 0.125;
  figures.tokens_per_second = 98'765.4;
  figures.delay_max = 7;
  report.rows = {{Discipline::kFewestTokens, figures},
                 {Discipline::kBalanced, figures}};
  return report;
}

TEST(PrefillReport, IsATableForPeople) {
  EXPECT_THAT(
      PrefillText(Report()),
      AllOf(HasSubstr("1,234 requests of 567,890 tokens, bursty, 2.5 a second"),
            HasSubstr("8 replicas of 16,384 tokens a batch, at most 32,768; 0.75 of"),
            HasSubstr("fewest_tokens"), HasSubstr("6.500"), HasSubstr("12.5%"),
            HasSubstr("98,765"), HasSubstr("simulated"), Not(HasSubstr("goes first"))));
}

TEST(PrefillReport, NamesABoundAndAFile) {
  PrefillReport report = Report();
  report.max_delay = 4;
  report.rate = std::nullopt;
  report.arrivals = "times.txt";
  EXPECT_THAT(PrefillText(report), AllOf(HasSubstr("as times.txt says"),
                                         HasSubstr("let 4 batches pass goes first")));
}

TEST(PrefillReport, HasNoLoadWhereAllArriveAtOnce) {
  PrefillReport report = Report();
  report.offered_load = std::nullopt;
  EXPECT_THAT(PrefillText(report), HasSubstr("32,768; all arrive at once; simulated"));
  EXPECT_EQ(Json::parse(PrefillJson(report))["offered_load"], nullptr);
}

TEST(PrefillReport, IsJson) {
  const Json json = Json::parse(PrefillJson(Report()));
  EXPECT_EQ(json["mode"], "prefill");
  EXPECT_EQ(json["rate"], 2.5);
  EXPECT_EQ(json["draw"], "von_neumann_mt19937_64");
  EXPECT_EQ(json["max_delay"], nullptr);
  EXPECT_EQ(json["offered_load"], 0.75);
  ASSERT_EQ(json["disciplines"].size(), 2);
  EXPECT_EQ(json["disciplines"][1]["discipline"], "balanced");
  EXPECT_EQ(json["disciplines"][1]["ttft_seconds"]["p99"], 6.5);
  EXPECT_EQ(json["disciplines"][1]["delay_max"], 7);
}

}  // namespace
}  // namespace evenpack
