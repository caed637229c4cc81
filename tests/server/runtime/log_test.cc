#include "server/runtime/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

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

}  // namespace
}  // namespace evenpack
