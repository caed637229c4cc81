#include "server/app/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using evenpack::testing::ScratchFile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(ConfigFileTest, HoldsValuesInOrderWithTheirLines) {
  const auto values = ParseConfig(
      "# a comment\n"
      "listen: 0.0.0.0:80\n"
      "\n"
      "max-jobs: 7   # another\n"
      "\"http-listen\": ''\n"
      "log-level: \"debug\"\n");
  ASSERT_THAT(values, IsOk());
  ASSERT_EQ(values->size(), 4U);
  EXPECT_EQ((*values)[0].name, "listen");
  EXPECT_EQ((*values)[0].value, "0.0.0.0:80");
  EXPECT_EQ((*values)[0].line, 2);
  EXPECT_EQ((*values)[1].value, "7");
  EXPECT_EQ((*values)[1].line, 4);
  EXPECT_EQ((*values)[2].name, "http-listen");
  EXPECT_EQ((*values)[2].value, "");
  EXPECT_EQ((*values)[3].value, "debug");
  EXPECT_EQ((*values)[3].line, 6);
}

TEST(ConfigFileTest, MayBeEmpty) {
  for (const char* text : {"", "\n\n", "# nothing\n", "---\n", "{}"}) {
    EXPECT_THAT(ParseConfig(text).value(), IsEmpty()) << text;
  }
}

TEST(ConfigFileTest, WhatIsNoMappingOfScalarsIsRefusedWithItsLine) {
  struct {
    std::string text;
    std::string message;
  } const cases[] = {
      {"- listen\n- max-jobs\n", "config: line 1: not a mapping"},
      {"just text", "config: line 1: not a mapping"},
      {"listen: a\nmax-jobs: [1, 2]\n", "config: line 2: not a single value"},
      {"listen: a\n\nmax-jobs:\n  a: b\n", "config: line 3: not a single value"},
      {"listen: a\nmax-jobs:\n", "config: line 2: not a single value"},
      {"listen: a\n[1, 2]: b\n", "config: line 2: "},
      {"listen: a\nlisten: b\n", "config: line 2: 'listen' is given twice"},
      {"listen: a\n\tmax-jobs: 7\n", "config: line 2: "},
      {"listen: a: b\n", "config: line 1: "},
      {"listen: a\n---\nmax-jobs: 7\n", "config: line 2: a second document"},
      {"---\n---\nlisten: a\n", "config: line 2: a second document"},
  };
  for (const auto& refused : cases) {
    EXPECT_THAT(ParseConfig(refused.text), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    StartsWith(refused.message)))
        << refused.text;
  }
}

TEST(ConfigFileTest, IsReadFromItsPath) {
  const std::string path = ScratchFile("config_file_test.yaml", "max-jobs: 9\n");
  const auto values = ReadConfigFile(path);
  ASSERT_THAT(values, IsOk());
  ASSERT_EQ(values->size(), 1U);
  EXPECT_EQ((*values)[0].value, "9");
}

TEST(ConfigFileTest, AFileThatCannotBeReadIsNamed) {
  const std::string missing = ::testing::TempDir() + "no such file.yaml";
  EXPECT_THAT(ReadConfigFile(missing), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("'" + missing + "'")));
  EXPECT_THAT(ReadConfigFile(::testing::TempDir()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("can't be read")));
}

TEST(ConfigFileTest, AFileWithoutEndIsRefused) {
  EXPECT_THAT(
      ReadConfigFile("/dev/zero"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          "config: '/dev/zero' can't be read: it is too large; accepted: a file of "
          "at most 1048576 bytes"));
}

}  // namespace
}  // namespace evenpack
