#include "server/runtime/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

TEST(LogTest, TextQuotesValuesThatAreNotPlain) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "job created", {}), "job created");
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "job created",
                          {{"job", "run-1"}, {"micro_batches", "4"}}),
            "job created job=run-1 micro_batches=4");
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "e",
                          {{"empty", ""},
                           {"space", "a b"},
                           {"quote", "a\"b"},
                           {"equals", "a=b"},
                           {"line", "a\nb"},
                           {"backslash", "a\\b"}}),
            R"(e empty="" space="a b" quote="a\"b" equals="a=b" line="a\nb" )"
            R"(backslash="a\\b")");
}

TEST(LogTest, JsonQuotesEverything) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "job created",
                          {{"job", "run-1"}, {"text", "a \"b\"\n"}}),
            R"("event":"job created","job":"run-1","text":"a \"b\"\n")");
}

TEST(LogTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "e", {{"v", "a\xff"}}),
            "\"event\":\"e\",\"v\":\"a\xef\xbf\xbd\"");
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "e", {{"v", "\xc3"}}),
            "e v=\"\xef\xbf\xbd\"");
}

TEST(LogTest, WritesOneLineToStandardErrorWithTimeAndLevel) {
  CaptureStderr();
  StartLog(LogLevel::kInfo, LogFormat::kText);
  Log(LogLevel::kWarning, "store slow", {{"seconds", "2"}});
  EXPECT_THAT(GetCapturedStderr(),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+[.][0-9]+"
                           "[-+][0-9]+:[0-9]+ warning store slow seconds=2\n"));
}

void LogAndEnd() {
  CaptureStdout();
  Log(LogLevel::kInfo, "group lost", {{"epoch", "3"}});
  if (!GetCapturedStdout().empty()) std::abort();
  std::exit(EXIT_SUCCESS);
}

// As of a trainer that has the worker in its process, whose standard output is its own.
TEST(LogDeathTest, WritesToStandardErrorWhereNobodyHasStartedIt) {
  // Another process, in which nobody has.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(LogAndEnd(), ::testing::ExitedWithCode(EXIT_SUCCESS),
              "^[0-9]+-[0-9]+-[0-9]+T[^ ]+ info group lost epoch=3\n$");
}

TEST(LogTest, WritesOneJsonObjectALineWherePatternSignsMeanNothing) {
  CaptureStderr();
  StartLog(LogLevel::kInfo, LogFormat::kJson);
  Log(LogLevel::kError, "100%v done", {{"percent", "%l {}"}});
  EXPECT_THAT(GetCapturedStderr(),
              MatchesRegex("[{]\"time\":\"[^\"]+\",\"level\":\"error\","
                           "\"event\":\"100%v done\",\"percent\":\"%l [{][}]\"[}]\n"));
}

TEST(LogTest, LinesBelowTheLeastLevelAreDropped) {
  CaptureStderr();
  StartLog(LogLevel::kWarning, LogFormat::kText);
  Log(LogLevel::kDebug, "a");
  Log(LogLevel::kInfo, "b");
  Log(LogLevel::kWarning, "c");
  Log(LogLevel::kError, "d");
  const std::string lines = GetCapturedStderr();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(lines, HasSubstr(" warning c\n"));
  EXPECT_THAT(lines, HasSubstr(" error d\n"));
}

TEST(LogTest, LinesThatNobodyReadsHoldNobodyUpAndAreCounted) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const int standard_error = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  StartLog(LogLevel::kInfo, LogFormat::kText);
  const std::string filler(10'000, 'x');
  for (int i = 0; i < 20; ++i) Log(LogLevel::kInfo, filler);
  std::string lines(1 << 18, 0);
  const ssize_t before = read(ends[0], lines.data(), lines.size());
  Log(LogLevel::kInfo, "after");
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  close(ends[1]);
  const ssize_t count = read(ends[0], lines.data(), lines.size());
  close(ends[0]);
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 200'000);
  ASSERT_GT(count, 0);
  EXPECT_THAT(
      lines.substr(0, static_cast<size_t>(count)),
      MatchesRegex("\n[^\n]* warning log lines left out because=\"standard error "
                   "took none\" lines=[0-9]+\n[^\n]* info after\n"));
}

}  // namespace
}  // namespace evenpack
