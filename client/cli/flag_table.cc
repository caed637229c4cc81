#include "client/cli/flag_table.h"

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

using enum FlagKind;

constexpr FlagDefinition kLengths = {
    "--lengths", kValue, "FILE",
    "document lengths in tokens, one a line; - reads stdin"};
constexpr FlagDefinition kPolicy = {"--policy", kValue, "original|fixed_greedy|wlb",
                                    "how documents are packed"};
constexpr FlagDefinition kJson = {"--json", kSwitch, "",
                                  "write a JSON object rather than text"};

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
      {"--max-delay", kValue, "D",
       "most global batches that a document waits (no bound)"},
      {"--backlog-limit", kValue, "B",
       "wlb: global batches' worth of waiting tokens above which nothing is admitted "
       "(4)"},
      {"--crossover", kValue, "T",
       "workload d^2/T + d: the length at which attention costs as much as the rest "
       "(47000)"},
      {"--ns-per-token", kValue, "NS",
       "with --crossover: nanoseconds of a token (1000)"},
      {"--model", kValue, "NAME",
       "workload from a model's shape: 550M, 7B, 30B, 70B, 405B"},
      {"--hardware", kValue, "NAME", "with --model: H100, H200 (H100)"},
      {"--tp", kValue, "N", "with --model: tensor-parallel ranks (1)"},
      {"--cp", kValue, "N", "with --model: context-parallel ranks (1)"},
      {"--split-documents", kBoolean, "true|false",
       "original: cut documents where a micro-batch is full (false)"},
      {"--split-overlong", kBoolean, "true|false",
       "cut documents longer than --max-length rather than refuse them (false)"},
      {"--repeat", kValue, "K",
       "passes over the file, the later ones shuffled (fisher_yates_mt19937_64) (1)"},
      {"--seed", kValue, "S", "seed of the shuffles (0)"},
      {"--steps", kValue, "M", "take documents for M full steps, no more (no bound)"},
      kJson,
  };
}

CommandDefinition PackDefinition() {
  CommandDefinition pack = {"pack",
                            "Pack documents with one policy and measure the steps",
                            JobFlagDefinitions()};
  pack.flags.insert(pack.flags.begin(), {kLengths, kPolicy});
  return pack;
}

CommandDefinition CompareDefinition() {
  CommandDefinition compare = {
      "compare", "Pack the same documents with every policy, side by side",
      JobFlagDefinitions()};
  compare.flags.insert(compare.flags.begin(), kLengths);
  return compare;
}

CommandDefinition ShardDefinition() {
  return {
      "shard",
      "Cut the documents, as one micro-batch, over context-parallel ranks",
      {
          kLengths,
          {"--cp", kValue, "C", "context-parallel ranks"},
          {"--sharding", kValue, "per_sequence|per_document|adaptive", "how to cut"},
          {"--pad-to", kValue, "M",
           "pad to multiples of M (and of twice --cp); 0: padding-free (0)"},
          {"--model", kValue, "NAME",
           "model of the kernel: 550M, 7B, 30B, 70B, 405B (7B)"},
          {"--hardware", kValue, "NAME", "H100, H200 (H100)"},
          {"--tp", kValue, "N", "tensor-parallel ranks (1)"},
          {"--print-slices", kSwitch, "", "list the slices of every rank"},
          kJson,
      }};
}

}  // namespace

const std::vector<CommandDefinition>& CommandDefinitions() {
  static const auto* const kCommands = new std::vector<CommandDefinition>{
      PackDefinition(), ShardDefinition(), CompareDefinition()};
  return *kCommands;
}

std::string FlagNames(const CommandDefinition& command) {
  std::string names;
  for (const FlagDefinition& flag : command.flags) {
    absl::StrAppend(&names, flag.name, ", ");
  }
  return absl::StrCat(names, "--help");
}

}  // namespace evenpack
