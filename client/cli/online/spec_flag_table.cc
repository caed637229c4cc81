#include "client/cli/online/spec_flag_table.h"

#include "client/cli/balanced_flags.h"
#include "client/cli/shared_flags.h"

namespace evenpack {
namespace {

using enum FlagKind;

constexpr char kShape[] = "Shape";
constexpr char kPolicy[] = "Policy";
constexpr char kCost[] = "Cost";
constexpr char kConsumer[] = "Sharding and layout";
constexpr char kLimits[] = "Limits";

constexpr FlagDefinition In(const char* group, FlagDefinition flag) {
  flag.group = group;
  return flag;
}

// What the trainer can take, and what the server keeps for it.
std::vector<FlagDefinition> ConsumerFlagDefinitions() {
  return {
      {"--sharding", kValue, "per_sequence|per_document|adaptive|contiguous|hybrid",
       "how micro-batches are cut over CP ranks (by layout)", kConsumer},
      In(kConsumer, kHybridToleranceFlag),
      {"--hybrid-token-ps", kValue, "PS",
       "hybrid: picoseconds of a layer for a token beside attention (0)", kConsumer},
      {"--hybrid-cut-token-ps", kValue, "PS",
       "hybrid: picoseconds of a layer for a cut document's token to travel (0)",
       kConsumer},
      {"--layout", kValue, "native|megatron_thd|te_thd|pytorch_cp|ring_llama3|hf_flat",
       "what the trainer's attention reads (native)", kConsumer},
      {"--max-documents", kValue, "N",
       "most documents of a micro-batch; 0: no bound (0)", kConsumer},
      {"--pad-tokens-to", kValue, "N",
       "pad each micro-batch to a multiple of N tokens; 0: not (0)", kConsumer},
      {"--shape-ladder", kValue, "A,B,...",
       "pad each micro-batch to the least of these token counts that holds it (none)",
       kConsumer},
      {"--sequence-parallel", kBoolean, "true|false",
       "lengths are multiples of --tp too (false)", kConsumer},
      {"--retain-checkpoints", kValue, "N", "checkpoints that stay restorable (1)",
       kLimits},
      {"--max-steps-ahead", kValue, "N",
       "decided steps beyond the last durable one (1024)", kLimits},
      {"--max-buffered-tokens", kValue, "N",
       "tokens of a stream that no step admitted yet (four times what a step can need)",
       kLimits},
      {"--max-buffered-documents", kValue, "N",
       "documents of a stream that no step admitted yet; 0: no bound (0)", kLimits},
      {"--max-buffered-bytes", kValue, "N",
       "memory of these documents; 0: no bound (0)", kLimits},
  };
}

}  // namespace

std::vector<FlagDefinition> StreamFlagDefinitions() {
  return {
      {"--streams", kValue, "A,B=WEIGHT,...",
       "names of the job's streams, with weights for --merge interleave (default)",
       "Streams"},
      {"--merge", kValue, "interleave|arrival",
       "take documents from streams by weights, or as they come (interleave)",
       "Streams"},
  };
}

std::vector<FlagDefinition> SpecFlagDefinitions() {
  std::vector<FlagDefinition> flags = {
      {"--dp", kValue, "D", "data-parallel ranks (1)", kShape},
      {"--micro-batches", kValue, "M", "micro-batches per step of EACH DP rank (1)",
       kShape},
      {"--window", kValue, "L", "nominal tokens of a micro-batch", kShape},
      {"--max-length", kValue, "S", "most tokens of a micro-batch (the window)",
       kShape},
      {"--cp", kValue, "C", "context-parallel ranks (1)", kShape},
      {"--tp", kValue, "N", "tensor-parallel ranks (1)", kShape},
      {"--pp", kValue, "N", "pipeline stages (1)", kShape},
      {"--ep", kValue, "N", "expert-parallel ranks (1)", kShape},
      {"--virtual-pipeline-group", kValue, "G",
       "micro-batches that an interleaved pipeline schedule takes together (1; where "
       "balanced has virtual_stages, at least --pp)",
       kShape},
      In(kPolicy, kPolicyFlag),
      {"--window-batches", kValue, "G",
       "fixed_greedy: global batches packed together (1)", kPolicy},
      {"--queue-thresholds", kValue, "A,B,...",
       "wlb: lengths from which documents wait in a queue (none)", kPolicy},
      In(kPolicy, kSplitDocumentsFlag),
      In(kPolicy, kSplitOverlongFlag),
      In(kPolicy, kMaxDelayFlag),
      In(kPolicy, kBacklogLimitFlag),
      In(kCost, kCrossoverFlag),
      In(kCost, kNsPerTokenFlag),
      In(kCost, kModelFlag),
      In(kCost, kHardwareFlag),
      {"--cost-profile", kValue, "NAME",
       "attention as the server's cost profile of this name was measured: for adaptive "
       "and hybrid sharding, and with --model for the workload",
       kCost},
      {"--attention-scale", kValue, "X",
       "what the cost of attention is multiplied by, as `latency` suggests (1)", kCost},
      {"--linear-scale", kValue, "X", "likewise the cost that is linear in tokens (1)",
       kCost},
      {"--self-calibrating", kBoolean, "true|false",
       "let the server set the two by itself, as trainers' latencies suggest (false)",
       kCost},
  };
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    flags.push_back(In(kPolicy, flag));
  }
  const std::vector<FlagDefinition> consumer = ConsumerFlagDefinitions();
  flags.insert(flags.end(), consumer.begin(), consumer.end());
  return flags;
}

}  // namespace evenpack
