#include "client/cli/offline_flags.h"

#include <string_view>
#include <vector>

#include "client/cli/balanced_flags.h"
#include "client/cli/shared_flags.h"

namespace evenpack {
namespace {

using enum FlagKind;

constexpr FlagDefinition kCrossoverErrorFlag = {
    "--crossover-error", kValue, "X",
    "decide as if the length at which attention costs as much as the rest were 1 + X "
    "times what it is (0)"};
constexpr FlagDefinition kStepsFlag = {
    "--steps", kValue, "M",
    "take documents for M full steps, no more; fixed_greedy: for whole windows of them "
    "(no bound)"};

std::vector<FlagDefinition> JobFlagDefinitions() {
  return {
      {"--micro-batches", kValue, "N", "micro-batches per step, DP ranks together"},
      {"--window", kValue, "L", "nominal tokens of a micro-batch"},
      {"--max-length", kValue, "S",
       "most tokens of a micro-batch (pack: the window; compare: 3/2 of it)"},
      {"--window-batches", kValue, "G",
       "fixed_greedy, fixed_solver: global batches packed together (pack: 1; compare: "
       "8)"},
      {"--queue-thresholds", kValue, "A,B,...",
       "wlb: lengths from which documents wait in a queue (pack: none; compare: 3/8 "
       "and 3/4 of the window)"},
      kMaxDelayFlag,
      kBacklogLimitFlag,
      kCrossoverFlag,
      kNsPerTokenFlag,
      kModelFlag,
      kHardwareFlag,
      {"--tp", kValue, "N", "with --model: tensor-parallel ranks (1)"},
      {"--cp", kValue, "N", "with --model: context-parallel ranks (1)"},
      kCrossoverErrorFlag,
      kSplitDocumentsFlag,
      kSplitOverlongFlag,
      kRepeatFlag,
      kSeedFlag,
      kStepsFlag,
      kJsonFlag,
  };
}

std::vector<FlagDefinition> PrefillFlagDefinitions() {
  return {
      {"--replicas", kValue, "N", "prefill: data-parallel replicas"},
      {"--arrivals", kValue, "poisson|bursty",
       "prefill: how requests arrive; bursty: at 3 times the rate a quarter of the "
       "time, at a third of it otherwise (poisson)"},
      {"--rate", kValue, "R", "prefill: requests a second on average"},
      {"--burst-seconds", kValue, "S", "prefill: mean duration of a burst (10)"},
      {"--arrivals-file", kValue, "FILE",
       "prefill: in place of --rate, when each request arrives: seconds, one a line"},
      {"--requests", kValue, "K", "prefill: at most so many requests (no bound)"},
      {"--length-scale", kValue, "X", "prefill: multiplies the prompts' lengths (1)"},
      {"--discipline", kValue, "fcfs|fewest_tokens|longest_first|balanced",
       "prefill: how batches are formed (each in turn)"},
  };
}

void Without(std::string_view flag, CommandDefinition& command) {
  std::erase_if(command.flags, [flag](const FlagDefinition& definition) {
    return std::string_view(definition.name) == flag;
  });
}

CommandDefinition PackDefinition() {
  CommandDefinition pack = {"pack",
                            "Pack documents with one policy and measure the steps",
                            JobFlagDefinitions()};
  pack.flags.insert(pack.flags.begin(),
                    {kLengthsFlag,
                     kIndexFlag,
                     {"--mode", kValue, "training|prefill",
                      "steps of micro-batches, or batches of prompts that arrive "
                      "(training)"},
                     {"--policy", kValue,
                      "original|fixed_greedy|wlb|balanced|fixed_solver|varlen_solver",
                      "how documents are packed"},
                     {"--time-limit", kValue, "SECONDS",
                      "fixed_solver, varlen_solver: longest search of a window (10)"},
                     {"--gap", kValue, "G",
                      "the same: how near to the best possible, as a share, is near "
                      "enough (0.0001)"}});
  for (const auto& more : {BalancedFlagDefinitions(), PrefillFlagDefinitions()}) {
    pack.flags.insert(pack.flags.end() - 1, more.begin(), more.end());
  }
  return pack;
}

CommandDefinition CompareDefinition() {
  CommandDefinition compare = {
      "compare", "Pack the same documents with every policy, side by side",
      JobFlagDefinitions()};
  // Its rows are all decided by the costs that measure them.
  Without("--crossover-error", compare);
  compare.flags.insert(compare.flags.begin(), {kLengthsFlag, kIndexFlag});
  return compare;
}

CommandDefinition ShardDefinition() {
  return {"shard",
          "Cut the documents, as one micro-batch, over context-parallel ranks",
          {
              kLengthsFlag,
              kIndexFlag,
              {"--cp", kValue, "C", "context-parallel ranks"},
              {"--sharding", kValue,
               "per_sequence|per_document|adaptive|contiguous|hybrid", "how to cut"},
              kHybridToleranceFlag,
              {"--hybrid-token-ps", kValue, "PS",
               "hybrid: picoseconds for a token beside attention (0)"},
              {"--hybrid-cut-token-ps", kValue, "PS",
               "hybrid: picoseconds for a cut document's token to travel (0)"},
              {"--pad-to", kValue, "M",
               "pad to multiples of M (and of twice --cp); 0: padding-free (0)"},
              {"--model", kValue, "NAME",
               "model of the kernel: 550M, 7B, 30B, 70B, 405B (7B)"},
              {"--hardware", kValue, "NAME", "H100, H200 (H100)"},
              {"--tp", kValue, "N", "tensor-parallel ranks (1)"},
              {"--print-slices", kSwitch, "", "list the slices of every rank"},
              kJsonFlag,
          }};
}

// Of simulate and assess alike.
std::vector<FlagDefinition> SimulationFlagDefinitions() {
  return {
      kLengthsFlag,
      kIndexFlag,
      kPolicyFlag,
      {"--sharding", kValue, "per_sequence|per_document|adaptive|contiguous|hybrid",
       "how micro-batches are cut over CP ranks"},
      kHybridToleranceFlag,
      {"--window-batches", kValue, "G", "fixed_greedy: global batches packed together"},
      kSplitDocumentsFlag,
      {"--over-window", kValue, "drop|cut",
       "what becomes of documents longer than the window (drop)"},
      {"--virtual-stages", kValue, "V",
       "runs of layers of each pipeline rank; 1 is 1F1B"},
      {"--sync-domain", kValue, "step|micro_batch", "where data-parallel ranks meet"},
      kCrossoverErrorFlag,
      kRepeatFlag,
      kSeedFlag,
      kStepsFlag,
      kJsonFlag,
  };
}

CommandDefinition SimulateDefinition() {
  CommandDefinition simulate = {
      "simulate",
      "Predict what steps take on a cluster, against plain packing and perfect balance",
      SimulationFlagDefinitions()};
  simulate.flags.insert(
      simulate.flags.begin(),
      {"--config", kValue, "NAME|FILE",
       "a configuration of the paper (550M-64K, 7B-128K, ...), its tables (paper, "
       "window-sweep, breakdown, packing-table, cp-figure), or a file: "
       "evenpack.v1.SimulationConfig as YAML, JSON or textproto"});
  simulate.flags.push_back(
      {"--placement", kValue, "given|least",
       "micro-batches on data-parallel ranks and in their pipelines as the policy "
       "numbers them, or so that the predicted step is shortest (balanced: least; else "
       "given)"});
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    simulate.flags.push_back(flag);
  }
  return simulate;
}

CommandDefinition AssessDefinition() {
  CommandDefinition assess = {
      "assess",
      "What balanced packing would gain on your documents and your cluster, on a page",
      SimulationFlagDefinitions()};
  // Its rows have errors of their own.
  Without("--crossover-error", assess);
  assess.flags.insert(assess.flags.begin(),
                      {"--config", kValue, "FILE|NAME",
                       "evenpack.v1.SimulationConfig as YAML, JSON or textproto, or a "
                       "configuration of the paper (7B-128K, ...)"});
  return assess;
}

CommandDefinition VerifyDefinition() {
  return {"verify",
          "Read the file of a server's store whole, while no server has it",
          {{"FILE", kArgument, "", "the path after sqlite: in the server's --store"},
           kJsonFlag}};
}

}  // namespace

std::vector<CommandDefinition> OfflineCommands() {
  return {PackDefinition(),     ShardDefinition(),  CompareDefinition(),
          SimulateDefinition(), AssessDefinition(), VerifyDefinition()};
}

}  // namespace evenpack
