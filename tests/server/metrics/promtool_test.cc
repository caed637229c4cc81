// Prometheus' own tool reads what is exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/metrics/figures_collector.h"
#include "tests/server/metrics/fake_figures.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int status = 0;
  std::string output;
};

// Runs `promtool ARGUMENTS INPUT` of package prometheus, INPUT being a file with
// `text`.
Outcome RunPromtool(const std::string& arguments, const std::string& text) {
  std::string directory = ::testing::TempDir() + "/promtool_test_XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return {-1, "no temporary directory"};
  const std::string in = directory + "/in";
  const std::string out = directory + "/out";
  std::ofstream(in) << text;
  Outcome outcome;
  outcome.status =
      std::system(("promtool " + arguments + in + " >" + out + " 2>&1").c_str());
  std::ifstream file(out);
  outcome.output.assign((std::istreambuf_iterator<char>(file)), {});
  unlink(in.c_str());
  unlink(out.c_str());
  rmdir(directory.c_str());
  return outcome;
}

Outcome CheckMetrics(const std::string& text) {
  return RunPromtool("check metrics <", text);
}

// The blocks of docs/metrics.md that are marked as PromQL, for a job called 7b.
std::vector<std::string> DocumentedQueries() {
  std::ifstream file(EVENPACK_SOURCE_DIR "/docs/metrics.md");
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
  const Outcome outcome = CheckMetrics(text);
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
  const Outcome outcome = RunPromtool("check rules ", rules + "]}]\n");
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
