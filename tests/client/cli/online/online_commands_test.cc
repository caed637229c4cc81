#include "client/cli/online/online_commands.h"

#include <gmock/gmock.h>

#include "client/cli/offline_flags.h"
#include "client/cli/online/online_flags.h"

namespace evenpack {
namespace {

TEST(OnlineCommandsTest, EveryOneOfTheTableIsThereAndNoOther) {
  for (const CommandDefinition& command : OnlineCommands()) {
    EXPECT_NE(FindOnlineCommand(command.name), nullptr) << command.name;
  }
  for (const CommandDefinition& command : OfflineCommands()) {
    EXPECT_EQ(FindOnlineCommand(command.name), nullptr) << command.name;
  }
  EXPECT_EQ(FindOnlineCommand(""), nullptr);
}

}  // namespace
}  // namespace evenpack
