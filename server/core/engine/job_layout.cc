#include "server/core/engine/job_layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// By the numbers of Sharding.
constexpr std::array<absl::string_view, 5> kShardings = {
    "per_sequence", "per_document", "adaptive", "contiguous", "hybrid"};

std::string NameOf(Sharding sharding) {
  const auto number = static_cast<size_t>(sharding);
  return number < kShardings.size() ? std::string(kShardings[number])
                                    : absl::StrCat(number);
}

struct Shardings {
  std::vector<Sharding> accepted;
  absl::string_view names;
};

Shardings ShardingsOf(Layout layout) {
  switch (layout) {
    case Layout::kNative:
      return {{Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kAdaptive,
               Sharding::kHybrid},
              "per_sequence, per_document, adaptive or hybrid"};
    case Layout::kMegatronThd:
    case Layout::kTeThd:
    case Layout::kPytorchCp:
      return {{Sharding::kPerSequence, Sharding::kPerDocument},
              "per_sequence or per_document"};
    case Layout::kRingLlama3:
      return {{Sharding::kContiguous}, "contiguous"};
    case Layout::kHfFlat:
      return {{Sharding::kPerSequence}, "per_sequence"};
  }
  return {};
}

absl::Status ValidateKind(const JobSpec& spec) {
  const LayoutSpec& layout = spec.layout;
  if (layout.kind > Layout::kHfFlat) {
    return InvalidField(
        "layout.kind", static_cast<uint32_t>(layout.kind),
        "native, megatron_thd, te_thd, pytorch_cp, ring_llama3 or hf_flat");
  }
  if (layout.kind == Layout::kHfFlat && spec.context_parallel != 1) {
    return InvalidField("context_parallel", spec.context_parallel,
                        "1 for the layout hf_flat");
  }
  if (layout.kind == Layout::kNative && layout.sequence_parallel) {
    return InvalidField("layout.sequence_parallel", "true",
                        "false for the layout native, which parallelism does not pad");
  }
  return absl::OkStatus();
}

absl::Status ValidateSharding(const JobSpec& spec) {
  const Shardings shardings = ShardingsOf(spec.layout.kind);
  if (std::find(shardings.accepted.begin(), shardings.accepted.end(), spec.sharding) ==
      shardings.accepted.end()) {
    return InvalidField("sharding", NameOf(spec.sharding),
                        absl::StrCat(shardings.names, " for the layout ",
                                     LayoutName(spec.layout.kind)));
  }
  if (IsChosenPerMicroBatch(spec.sharding) && spec.kernel_latency.empty()) {
    return InvalidField("kernel_latency", "an empty table",
                        absl::StrCat("a table of kernel latencies, which ",
                                     NameOf(spec.sharding), " sharding needs"));
  }
  return Validate(spec.hybrid);
}

// Tokens, padding included, up to which the policy fills a micro-batch.
uint32_t FillLimit(const JobSpec& spec) {
  return IsVariableLength(spec.policy.kind) ? spec.max_length : spec.window;
}

absl::string_view FillLimitName(const JobSpec& spec) {
  return IsVariableLength(spec.policy.kind) ? "max_length" : "window";
}

absl::Status ValidateFillLimit(const JobSpec& spec) {
  const uint32_t unit = ParallelUnitsOf(spec).total;
  if (unit <= FillLimit(spec)) return absl::OkStatus();
  return InvalidField(
      FillLimitName(spec), FillLimit(spec),
      absl::StrCat("at least ", unit, ", to whose multiples the layout ",
                   LayoutName(spec.layout.kind), " pads with this parallelism"));
}

absl::Status ValidatePadTokensTo(const JobSpec& spec) {
  const uint32_t pad_to = spec.layout.pad_tokens_to;
  if (pad_to <= 1) return absl::OkStatus();
  const uint32_t unit = ParallelUnitsOf(spec).total;
  const uint32_t limit = FillLimit(spec);
  if (pad_to % unit != 0 || pad_to > limit) {
    return InvalidField("layout.pad_tokens_to", pad_to,
                        absl::StrCat("0 (none) or a multiple of ", unit, " up to ",
                                     limit, " (", FillLimitName(spec), ")"));
  }
  if (!spec.layout.shape_ladder.empty()) {
    return InvalidField("layout.pad_tokens_to", pad_to, "0 with a shape_ladder");
  }
  return absl::OkStatus();
}

absl::Status ValidateLadder(const JobSpec& spec) {
  const std::vector<uint32_t>& ladder = spec.layout.shape_ladder;
  if (ladder.empty()) return absl::OkStatus();
  const uint32_t unit = ParallelUnitsOf(spec).total;
  uint32_t previous = 0;
  for (size_t i = 0; i < ladder.size(); ++i) {
    if (ladder[i] <= previous || ladder[i] % unit != 0) {
      return InvalidField(absl::StrCat("layout.shape_ladder[", i, "]"), ladder[i],
                          absl::StrCat("a multiple of ", unit, " above ", previous));
    }
    previous = ladder[i];
  }
  const auto rung = std::lower_bound(ladder.begin(), ladder.end(), spec.window);
  if (rung == ladder.end() || *rung > spec.max_length) {
    return InvalidField(
        "layout.shape_ladder", "a ladder without a rung for a window of tokens",
        absl::StrCat("one with a rung of ", spec.window, " (window) to ",
                     spec.max_length, " (max_length) tokens"));
  }
  if (ladder.front() > FillLimit(spec)) {
    return InvalidField(
        "layout.shape_ladder[0]", ladder.front(),
        absl::StrCat("at most ", spec.window, " (window), which the policy fills"));
  }
  return absl::OkStatus();
}

}  // namespace

ParallelUnits ParallelUnitsOf(const JobSpec& spec) {
  const LayoutSpec& layout = spec.layout;
  if (layout.kind == Layout::kNative) return {};
  const uint32_t context = spec.context_parallel;
  const uint32_t tensor = layout.sequence_parallel ? spec.tensor_parallel : 1;
  if (context == 1 && tensor == 1) return {};
  // A document that is cut by itself is cut in 2 * CP equal slots, also where CP is 1.
  const uint32_t slots = 2 * context;
  const uint32_t document =
      spec.sharding == Sharding::kPerDocument ? std::lcm(slots, tensor) : 1;
  // Each context-parallel rank's part is shared by the tensor-parallel ranks.
  const uint32_t total = std::lcm(context == 1 ? 1 : slots, context * tensor);
  return {document, std::lcm(document, total)};
}

PaddingRule PaddingRuleOf(const JobSpec& spec) {
  const ParallelUnits units = ParallelUnitsOf(spec);
  return {units.document, std::max(units.total, spec.layout.pad_tokens_to),
          spec.layout.shape_ladder};
}

Capacity CapacityOf(const JobSpec& spec) {
  Capacity capacity;
  capacity.padding = PaddingRuleOf(spec);
  capacity.tokens = CapacityWithin(capacity.padding, FillLimit(spec));
  if (spec.layout.max_documents != 0) capacity.documents = spec.layout.max_documents;
  return capacity;
}

uint32_t LongestDocument(const JobSpec& spec) {
  return CapacityWithin(PaddingRuleOf(spec), spec.max_length);
}

uint32_t LongestAccepted(const JobSpec& spec) {
  const uint64_t longest = LongestDocument(spec);
  return static_cast<uint32_t>(std::min<uint64_t>(
      spec.split_overlong ? longest * kMaxPieces : longest, kMaxDocumentLength));
}

absl::Status ValidateLayout(const JobSpec& spec) {
  for (const auto check : {ValidateKind, ValidateSharding, ValidateFillLimit,
                           ValidatePadTokensTo, ValidateLadder}) {
    if (absl::Status status = check(spec); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace evenpack
