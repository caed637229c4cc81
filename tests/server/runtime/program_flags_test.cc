#include "server/runtime/program_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ProgramFlagsTest : public ::testing::Test {
 protected:
  ProgramFlagsTest() {
    AddNumber(app_, "--ranks", ranks_, 1, 64, "ranks of a group");
    AddNumber(app_, "--bytes", bytes_, 0, uint64_t{1} << 40, "bytes of memory");
    AddLogFlags(app_, level_, format_);
  }

  // What is wrong with them; empty where nothing is.
  std::string Parse(std::vector<std::string> reversed) {
    try {
      app_.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }

  CLI::App app_;
  uint32_t ranks_ = 3;
  uint64_t bytes_ = 5;
  LogLevel level_ = LogLevel::kInfo;
  LogFormat format_ = LogFormat::kText;
};

TEST_F(ProgramFlagsTest, WhatIsNotGivenStays) {
  EXPECT_EQ(Parse({}), "");
  EXPECT_EQ(ranks_, 3);
  EXPECT_EQ(bytes_, 5);
  EXPECT_EQ(level_, LogLevel::kInfo);
  EXPECT_EQ(format_, LogFormat::kText);
}

TEST_F(ProgramFlagsTest, TakesNumbersToTheEndsOfTheirRange) {
  EXPECT_EQ(Parse({"--bytes=1099511627776", "--ranks=64"}), "");
  EXPECT_EQ(ranks_, 64);
  EXPECT_EQ(bytes_, uint64_t{1} << 40);
  EXPECT_EQ(Parse({"--bytes=0", "--ranks=1"}), "");
  EXPECT_EQ(ranks_, 1);
  EXPECT_EQ(bytes_, 0);
}

TEST_F(ProgramFlagsTest, NumbersAreDecimalWhateverTheyBeginWith) {
  EXPECT_EQ(Parse({"--bytes=00", "--ranks=010"}), "");
  EXPECT_EQ(ranks_, 10);
  EXPECT_EQ(bytes_, 0);
}

TEST_F(ProgramFlagsTest, RefusesOtherNumbersNamingFlagAndRange) {
  for (const char* value : {"0", "65", "-1", "many", "0x10", "1e1", "5.0", "00"}) {
    EXPECT_THAT(Parse({std::string("--ranks=") + value}),
                AllOf(HasSubstr("--ranks"), HasSubstr("1 to 64")));
  }
  EXPECT_THAT(Parse({"--ranks=65"}), HasSubstr("1 to 64"));
}

TEST_F(ProgramFlagsTest, TakesALogsLevelAndFormByName) {
  EXPECT_EQ(Parse({"--log-format=json", "--log-level=warning"}), "");
  EXPECT_EQ(level_, LogLevel::kWarning);
  EXPECT_EQ(format_, LogFormat::kJson);
  EXPECT_THAT(Parse({"--log-level=loud"}), HasSubstr("loud"));
}

TEST_F(ProgramFlagsTest, HelpHasRangesNamesAndDefaults) {
  const std::string help = app_.help();
  for (const char* part : {"--ranks N:", "1 - 64", "=3", "ranks of a group",
                           "--log-level", "warning", "=info", "=text"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST_F(ProgramFlagsTest, ArgumentsAreReadInTheirOrderOrSayWhatIsToBePrinted) {
  app_.set_version_flag("--version", "program 1");
  EXPECT_EQ(ParseArguments(app_, {"--ranks", "7"}).value(), "");
  EXPECT_EQ(ranks_, 7);
  EXPECT_EQ(ParseArguments(app_, {"--version"}).value(), "program 1\n");
  EXPECT_THAT(ParseArguments(app_, {"--help"}).value(), HasSubstr("--ranks"));
  const absl::Status refused = ParseArguments(app_, {"--ranks", "65"}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--ranks"));
}

}  // namespace
}  // namespace evenpack
