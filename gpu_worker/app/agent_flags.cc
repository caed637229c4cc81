#include "gpu_worker/app/agent_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/program_flags.h"

namespace evenpack::worker {
namespace {

constexpr char kAgentGroup[] = "Agent";
constexpr uint64_t kMostStepsAhead = 1'000'000;

}  // namespace

void AddAgentFlags(CLI::App& app, AgentFlags& flags) {
  CLI::Option* const agent =
      app.add_flag("--agent", flags.agent,
                   "be a node's plan agent: hold one subscription for all ranks of the "
                   "node that want the same steps; docs/agent.md")
          ->group(kAgentGroup);
  app.add_option("--listen", flags.listen,
                 "where the node's ranks reach it in place of the server; port 0 takes "
                 "any that is free")
      ->type_name("HOST:PORT|unix:PATH")
      ->group(kAgentGroup)
      ->needs(agent);
  app.add_flag("--insecure", flags.insecure,
               "let whoever reaches --listen use the agent, which speaks for them to "
               "the server: ports beyond this machine, and a socket for every user "
               "rather than this one and its group")
      ->group(kAgentGroup)
      ->needs(agent);
  AddNumber(app, "--max-steps-ahead", flags.max_steps_ahead, 1, kMostStepsAhead,
            "steps kept and under way for each job and DP rank, within --memory")
      ->group(kAgentGroup)
      ->needs(agent);
}

absl::Status CheckAgent(const AgentFlags& flags, const ServeOptions& shared) {
  if (!flags.agent) return absl::OkStatus();
  for (const auto& [flag, value] :
       {std::pair{"--server", &shared.server}, {"--listen", &flags.listen}}) {
    if (value->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": missing; accepted: one with --agent (see --help)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
