#include "client/cli/flag_table.h"

#include <gmock/gmock.h>

#include <set>

namespace evenpack {
namespace {

using ::testing::ElementsAre;

TEST(FlagTableTest, EveryCommandNamesEachFlagOnceAndExplainsIt) {
  std::vector<std::string> commands;
  for (const CommandDefinition& command : CommandDefinitions()) {
    commands.emplace_back(command.name);
    EXPECT_NE(std::string(command.help), "");
    const std::string group = commands.back().substr(0, commands.back().find(' '));
    EXPECT_EQ(GroupHelp(group).empty(), group == commands.back());
    std::set<std::string> names;
    for (const FlagDefinition& flag : command.flags) {
      EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
      EXPECT_NE(std::string(flag.help), "");
      EXPECT_EQ(std::string(flag.placeholder).empty(),
                flag.kind == FlagKind::kSwitch || flag.kind == FlagKind::kArgument);
    }
    EXPECT_TRUE(names.contains("--json"));
  }
  EXPECT_THAT(
      commands,
      ElementsAre("pack", "shard", "compare", "simulate", "assess", "verify",
                  "jobs create", "jobs list", "jobs describe", "jobs update",
                  "jobs delete", "profiles put", "profiles list", "profiles describe",
                  "profiles delete", "checkpoint", "restore", "rewind", "fork", "skip",
                  "ingest", "follow", "step", "latency", "top"));
}

TEST(FlagTableTest, ListsTheNames) {
  EXPECT_EQ(FlagNames({"a", "", {{"--x", FlagKind::kSwitch, "", ""}}}), "--x, --help");
}

}  // namespace
}  // namespace evenpack
