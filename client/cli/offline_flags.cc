#include "client/cli/offline_flags.h"

#include "client/cli/shared_flags.h"

namespace evenpack {
namespace {

using enum FlagKind;

std::vector<FlagDefinition> JobFlagDefinitions() {
  return {
      {"--micro-batches", kValue, "N", "micro-batches per step, DP ranks together"},
      {"--window", kValue, "L", "nominal tokens of a micro-batch"},
      {"--max-length", kValue, "S",
       "most tokens of a micro-batch (pack: the window; compare: 3/2 of it)"},
      {"--window-batches", kValue, "G",
       "fixed_greedy: global batches packed together (pack: 1; compare: 8)"},
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
      kSplitDocumentsFlag,
      kSplitOverlongFlag,
      kRepeatFlag,
      kSeedFlag,
      {"--steps", kValue, "M", "take documents for M full steps, no more (no bound)"},
      kJsonFlag,
  };
}

CommandDefinition PackDefinition() {
  CommandDefinition pack = {"pack",
                            "Pack documents with one policy and measure the steps",
                            JobFlagDefinitions()};
  pack.flags.insert(pack.flags.begin(), {kLengthsFlag, kPolicyFlag});
  return pack;
}

CommandDefinition CompareDefinition() {
  CommandDefinition compare = {
      "compare", "Pack the same documents with every policy, side by side",
      JobFlagDefinitions()};
  compare.flags.insert(compare.flags.begin(), kLengthsFlag);
  return compare;
}

CommandDefinition ShardDefinition() {
  return {"shard",
          "Cut the documents, as one micro-batch, over context-parallel ranks",
          {
              kLengthsFlag,
              {"--cp", kValue, "C", "context-parallel ranks"},
              {"--sharding", kValue, "per_sequence|per_document|adaptive|contiguous",
               "how to cut"},
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

CommandDefinition VerifyDefinition() {
  return {"verify",
          "Read the file of a server's store whole, while no server has it",
          {{"FILE", kArgument, "", "the path after sqlite: in the server's --store"},
           kJsonFlag}};
}

}  // namespace

std::vector<CommandDefinition> OfflineCommands() {
  return {PackDefinition(), ShardDefinition(), CompareDefinition(), VerifyDefinition()};
}

}  // namespace evenpack
