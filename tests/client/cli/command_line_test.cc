#include "client/cli/command_line.h"

#include <gmock/gmock.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(CommandLineTest, KeepsValuesAsTyped) {
  const auto line = ParseCommandLine(
      {"pack", "--lengths", "-", "--window=-5", "--micro-batches", "-1", "--json"});
  ASSERT_THAT(line, IsOk());
  EXPECT_EQ(line->command, "pack");
  EXPECT_THAT(line->flags, UnorderedElementsAre(
                               Pair("--lengths", "-"), Pair("--window", "-5"),
                               Pair("--micro-batches", "-1"), Pair("--json", "true")));
}

TEST(CommandLineTest, TextIsUtf8ButForPaths) {
  const std::string bytes = "n\xff";
  EXPECT_THAT(
      ParseCommandLine({"jobs", "describe", bytes}),
      StatusIs(kInvalid, "NAME: 'n\\xff' is not accepted; accepted: text in UTF-8"));
  EXPECT_THAT(ParseCommandLine({"ingest", "--job", bytes}),
              StatusIs(kInvalid, HasSubstr("--job: 'n\\xff'")));
  EXPECT_THAT(ParseCommandLine({"jobs", "describe", "na\u00efve"}), IsOk());
  EXPECT_THAT(ParseCommandLine({"pack", "--lengths", bytes}), IsOk());
  EXPECT_THAT(ParseCommandLine({"verify", bytes}), IsOk());
}

TEST(CommandLineTest, ABooleanAloneIsTrue) {
  const auto line = ParseCommandLine(
      {"pack", "--split-overlong", "--split-documents", "false", "--json"});
  ASSERT_THAT(line, IsOk());
  EXPECT_THAT(line->flags, UnorderedElementsAre(Pair("--split-overlong", "true"),
                                                Pair("--split-documents", "false"),
                                                Pair("--json", "true")));
}

TEST(CommandLineTest, ABooleanWithAnEmptyValueIsNotOneAlone) {
  const std::vector<std::vector<std::string>> cases = {
      {"pack", "--split-overlong", ""},
      {"pack", "--split-overlong="},
      {"pack", "--split-overlong", "", "--json"},
      {"pack", "--finish", "true", "--split-overlong="}};
  for (const std::vector<std::string>& arguments : cases) {
    EXPECT_THAT(ParseCommandLine(arguments),
                StatusIs(kInvalid,
                         "--split-overlong: '' is not accepted; accepted: "
                         "true or false"));
  }
}

TEST(CommandLineTest, ASwitchTakesNoValue) {
  for (const char* given : {"false", "maybe"}) {
    EXPECT_THAT(ParseCommandLine({"pack", std::string("--json=") + given}),
                StatusIs(kInvalid, HasSubstr(std::string("--json: '") + given +
                                             "' is not accepted; accepted: no value")));
  }
}

TEST(CommandLineTest, ACommandMayHaveTwoWordsAndAnArgument) {
  const auto line = ParseCommandLine(
      {"jobs", "create", "list", "--window", "5", "--server=h:1", "--json"});
  ASSERT_THAT(line, IsOk());
  EXPECT_EQ(line->command, "jobs create");
  EXPECT_THAT(line->flags,
              UnorderedElementsAre(Pair("NAME", "list"), Pair("--window", "5"),
                                   Pair("--server", "h:1"), Pair("--json", "true")));
  const auto list = ParseCommandLine({"jobs", "list"});
  ASSERT_THAT(list, IsOk());
  EXPECT_EQ(list->command, "jobs list");
  const auto behind = ParseCommandLine({"jobs", "delete", "--server", "h:1", "run-7"});
  ASSERT_THAT(behind, IsOk());
  EXPECT_EQ(behind->flags.at("NAME"), "run-7");
}

TEST(CommandLineTest, GivesHelpAndVersion) {
  const auto version = ParseCommandLine({"--version"});
  ASSERT_THAT(version, IsOk());
  EXPECT_THAT(version->command, IsEmpty());
  EXPECT_EQ(version->text.substr(0, 12), "evenpackctl ");
  for (const char* const command : {"pack", "shard", "compare"}) {
    const auto help = ParseCommandLine({command, "--help"});
    ASSERT_THAT(help, IsOk());
    EXPECT_THAT(help->command, IsEmpty());
    EXPECT_THAT(help->text, HasSubstr("--lengths FILE"));
  }
  const auto help = ParseCommandLine({"--help"});
  ASSERT_THAT(help, IsOk());
  for (const char* const command : {"pack", "compare", "jobs", "ingest", "follow"}) {
    EXPECT_THAT(help->text, HasSubstr(command));
  }
}

TEST(CommandLineTest, AGroupAndItsCommandsHaveHelpOfTheirOwn) {
  const auto group = ParseCommandLine({"jobs", "--help"});
  ASSERT_THAT(group, IsOk());
  EXPECT_THAT(group->command, IsEmpty());
  for (const char* const command : {"create", "list", "describe", "update", "delete"}) {
    EXPECT_THAT(group->text, HasSubstr(command));
  }
  const auto create = ParseCommandLine({"jobs", "create", "--help"});
  ASSERT_THAT(create, IsOk());
  EXPECT_THAT(create->text, HasSubstr("Usage: evenpackctl jobs create"));
  EXPECT_THAT(create->text, HasSubstr("EACH DP rank"));
  EXPECT_THAT(create->text, HasSubstr("Sharding and layout:"));
}

TEST(CommandLineTest, RefusesWhatIsNoCommandLine) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{},
       "command is missing; accepted: pack, shard, compare, simulate, assess, verify, "
       "jobs, profiles, checkpoint, restore, rewind, fork, skip, ingest, follow, step, "
       "latency, top, --help, --version"},
      {{"jobs"},
       "jobs command is missing; accepted: create, list, describe, update, delete"},
      {{"jobs", "destroy"},
       "jobs command: 'destroy' is not accepted; accepted: create, list, describe, "
       "update, delete"},
      {{"jobs", "list", "all"}, "jobs list: 'all' is not accepted; accepted: --server"},
      {{"jobs", "create", "a", "b"},
       "jobs create: 'b' is not accepted; accepted: NAME"},
      {{"jobs", "update", "a", "--streams", "b"},
       "jobs update: '--streams' is not accepted"},
      {{"follow", "--job"}, "--job has no value; accepted: --job NAME"},
      {{"unpack"}, "command: 'unpack' is not accepted; accepted: pack, shard, compare"},
      {{"--window", "5"}, "command: '--window' is not accepted"},
      {{"pack", "--widow", "5"},
       "pack: '--widow' is not accepted; accepted: --lengths"},
      {{"pack", "file"}, "pack: 'file' is not accepted; accepted: --lengths"},
      {{"pack", "shard"}, "pack: 'shard' is not accepted"},
      {{"compare", "--policy", "wlb"}, "compare: '--policy' is not accepted"},
      {{"shard", "--window", "5"}, "shard: '--window' is not accepted"},
      {{"pack", "--window"}, "--window has no value; accepted: --window L"},
      {{"pack", "--window", "5", "--window", "6"},
       "--window: given 2 times is not accepted; accepted: once"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(ParseCommandLine(test.arguments),
                StatusIs(kInvalid, HasSubstr(test.message)));
  }
}

}  // namespace
}  // namespace evenpack
