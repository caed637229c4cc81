#include "tests/server/metrics/promtool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/metrics/figures_collector.h"
#include "tests/server/metrics/fake_figures.h"
#include "tests/testing/source_file.h"

namespace evenpack {
namespace {

using testing::CheckMetrics;
using ::testing::HasSubstr;
using testing::PromtoolOutcome;
using testing::RunPromtool;

// The blocks of docs/metrics.md that are marked as PromQL, for a job called 7b.
std::vector<std::string> DocumentedQueries() {
  std::ifstream file(testing::SourceFile("docs/metrics.md"));
  std::vector<std::string> queries;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```promql") {
      queries.emplace_back();
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      absl::StrAppend(&queries.back(), line, " ");
    }
  }
  for (std::string& query : queries) {
    query = absl::StrReplaceAll(query, {{"$job", "7b"}});
  }
  return queries;
}

TEST(PromtoolTest, HasNothingToSayAboutFilledFigures) {
  testing::FakeFigures figures;
  figures.jobs = {testing::FilledJob("7b"),
                  testing::FilledJob("say \"hi\"\\\nto {Zoë}, x=\"1\"} 2 #")};
  figures.server = testing::FilledServer();
  const std::string text = FiguresCollector(figures, testing::FilledOptions()).Text();
  const PromtoolOutcome outcome = CheckMetrics(text);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "");
}

TEST(PromtoolTest, WouldSpeakUp) {
  EXPECT_NE(CheckMetrics("evenpack_wrong{").status, 0);
  EXPECT_NE(CheckMetrics("# TYPE evenpack_wrong counter\nevenpack_wrong 1\n").output,
            "");
}

TEST(PromtoolTest, AcceptsTheQueriesOfTheDocumentation) {
  const std::vector<std::string> queries = DocumentedQueries();
  ASSERT_GE(queries.size(), 6u);
  std::string rules = "groups: [{name: documented, rules: [";
  for (size_t i = 0; i < queries.size(); ++i) {
    rules += absl::StrCat(i == 0 ? "" : ",", "{record: query_", i, ", expr: '",
                          queries[i], "'}");
  }
  const PromtoolOutcome outcome = RunPromtool("check rules ", rules + "]}]\n");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(PromtoolTest, TheQueriesOfTheDocumentationNameMetricsThatThereAre) {
  testing::FakeFigures figures;
  figures.jobs = {testing::FilledJob("7b")};
  const std::string text = FiguresCollector(figures, testing::FilledOptions()).Text();
  const std::regex name("evenpack_[a-z_]+");
  for (const std::string& query : DocumentedQueries()) {
    for (std::sregex_iterator it(query.begin(), query.end(), name), end; it != end;
         ++it) {
      EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", it->str(), "{")));
    }
  }
}

}  // namespace
}  // namespace evenpack
