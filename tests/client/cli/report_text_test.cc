#include "client/cli/report_text.h"

#include <gmock/gmock.h>

#include <string>

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CompareRow Row(const std::string& name, double weighted, double seconds, bool whole) {
  CompareRow row;
  row.name = name;
  row.whole_documents = whole;
  row.report.micro_batches = 4;
  row.report.window = 1000;
  row.report.figures.tokens_in = 12345;
  row.report.figures.imbalance =
      PackFigures::Imbalance{weighted, weighted, weighted, weighted, weighted};
  row.report.figures.predicted_forward_seconds = seconds;
  return row;
}

TEST(CompareTextTest, DrawsBarsAndNamesTheFastestRowOfWholeDocuments) {
  const CompareReport report = {10,
                                {Row("plain", 1.5, 12, true), Row("cut", 1.1, 1, false),
                                 Row("even", 1.25, 8, true)}};
  EXPECT_THAT(
      CompareText(report),
      AllOf(HasSubstr("10 documents, 12,345 tokens; 4 micro-batches of 1,000 tokens"),
            HasSubstr(std::string("1.500  ") + std::string(30, '#') + "  "),
            HasSubstr(std::string("1.250  ") + std::string(15, '#') + "  "),
            HasSubstr("even is predicted 1.50x as fast as plain")));
}

TEST(CompareTextTest, PromisesNothingWherePlainPackingIsBest) {
  const CompareReport report = {10,
                                {Row("plain", 1, 8, true), Row("even", 1, 9, true)}};
  EXPECT_THAT(
      CompareText(report),
      HasSubstr("No policy is predicted faster than plain on these documents."));
}

TEST(CompareTextTest, PromisesNothingWithoutAFullStep) {
  CompareReport report = {10, {Row("plain", 2, 8, true), Row("even", 1, 4, true)}};
  for (CompareRow& row : report.rows) row.report.figures.imbalance.reset();
  EXPECT_THAT(
      CompareText(report),
      AllOf(HasSubstr("Too few documents to compare: a step takes 4,000 tokens."),
            Not(HasSubstr("predicted"))));
}

TEST(PackTextTest, SaysWhereThereWasNoFullStep) {
  PackReport report;
  report.policy = "wlb";
  report.figures.digest = "abc";
  EXPECT_THAT(PackText(report),
              AllOf(HasSubstr("imbalance degree       no full step\n"),
                    HasSubstr("digest                 abc\n")));
}

ShardReport Ranks(size_t count) {
  ShardReport report;
  report.loads.assign(count, RankLoad{10, 2, 55, 3});
  report.predicted_ns.assign(count, 2500);
  return report;
}

TEST(ShardTextTest, ShowsPaddedTokensAndBars) {
  EXPECT_THAT(ShardText(Ranks(2)),
              AllOf(HasSubstr("0      12        2       3     55           2.5  " +
                              std::string(30, '#') + "\n"),
                    Not(HasSubstr("more ranks"))));
}

TEST(ShardTextTest, ShowsTheFirstRanksOfMany) {
  EXPECT_THAT(ShardText(Ranks(100)),
              AllOf(HasSubstr("\n  63 "), Not(HasSubstr("\n  64 ")),
                    HasSubstr("and 36 more ranks\n")));
}

}  // namespace
}  // namespace evenpack
