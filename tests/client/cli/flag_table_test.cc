#include "client/cli/flag_table.h"

#include <gmock/gmock.h>

#include <set>

namespace evenpack {
namespace {

TEST(FlagTableTest, EveryCommandNamesEachFlagOnceAndExplainsIt) {
  ASSERT_EQ(CommandDefinitions().size(), 3U);
  for (const CommandDefinition& command : CommandDefinitions()) {
    std::set<std::string> names;
    for (const FlagDefinition& flag : command.flags) {
      EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
      EXPECT_NE(std::string(flag.help), "");
      EXPECT_EQ(std::string(flag.placeholder).empty(), flag.kind == FlagKind::kSwitch);
    }
    EXPECT_TRUE(names.contains("--lengths") && names.contains("--json"));
  }
}

TEST(FlagTableTest, ListsTheNames) {
  EXPECT_EQ(FlagNames({"a", "", {{"--x", FlagKind::kSwitch, "", ""}}}), "--x, --help");
}

}  // namespace
}  // namespace evenpack
