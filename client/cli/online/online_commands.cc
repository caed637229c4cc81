#include "client/cli/online/online_commands.h"

#include <map>

#include "client/cli/online/checkpoint_commands.h"
#include "client/cli/online/follow_command.h"
#include "client/cli/online/ingest_command.h"
#include "client/cli/online/jobs_commands.h"
#include "client/cli/online/latency_command.h"
#include "client/cli/online/profile_commands.h"
#include "client/cli/online/rewind_commands.h"
#include "client/cli/top/top_command.h"

namespace evenpack {

OnlineCommand FindOnlineCommand(const std::string& name) {
  static const auto* const kCommands = new std::map<std::string, OnlineCommand>{
      {"jobs create", RunJobsCreate},
      {"jobs list", RunJobsList},
      {"jobs describe", RunJobsDescribe},
      {"jobs update", RunJobsUpdate},
      {"jobs delete", RunJobsDelete},
      {"profiles put", RunProfilesPut},
      {"profiles list", RunProfilesList},
      {"profiles describe", RunProfilesDescribe},
      {"profiles delete", RunProfilesDelete},
      {"checkpoint", RunCheckpoint},
      {"restore", RunRestore},
      {"rewind", RunRewind},
      {"fork", RunFork},
      {"skip", RunSkip},
      {"ingest", RunIngest},
      {"follow", RunFollow},
      {"step", RunStep},
      {"latency", RunLatency},
      {"top", RunTop}};
  const auto found = kCommands->find(name);
  return found == kCommands->end() ? nullptr : found->second;
}

}  // namespace evenpack
