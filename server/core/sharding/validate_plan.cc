#include "server/core/sharding/validate_plan.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/shard_request.h"
#include "server/core/sharding/slice_checker.h"

namespace evenpack {
namespace {

template <typename... Parts>
absl::Status BrokenPlan(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat("shard plan: ", parts...));
}

constexpr absl::string_view kPlanned =
    "0 (per_sequence), 1 (per_document), 3 (contiguous) or 4 (hybrid)";

bool IsPlanned(Sharding sharding) {
  return sharding <= Sharding::kHybrid && sharding != Sharding::kAdaptive;
}

absl::Status CheckKind(const ShardPlan& plan) {
  if (!IsPlanned(plan.sharding)) {
    return BrokenPlan("sharding ", static_cast<uint32_t>(plan.sharding),
                      "; accepted: ", kPlanned);
  }
  if (plan.context_parallel < 1 || plan.context_parallel > kMaxContextParallel) {
    return BrokenPlan("context_parallel ", plan.context_parallel, "; accepted: 1 to ",
                      kMaxContextParallel);
  }
  if (plan.sharding == Sharding::kHybrid && plan.pad_multiple != 0) {
    return BrokenPlan("pad_multiple ", plan.pad_multiple, "; accepted: 0 for hybrid");
  }
  if (plan.pad_multiple > kMaxPadMultiple || plan.pad_multiple % plan.slots() != 0) {
    return BrokenPlan("pad_multiple ", plan.pad_multiple, "; accepted: a multiple of ",
                      plan.slots(), " up to ", kMaxPadMultiple);
  }
  return absl::OkStatus();
}

// As few as the sharding needs, or what PadEnd may make of that.
absl::Status CheckPaddedTokens(uint64_t padded_tokens,
                               std::span<const uint64_t> document_starts,
                               Sharding sharding, uint32_t pad_multiple) {
  const uint64_t least = LeastPaddedTokens(document_starts, sharding, pad_multiple);
  const uint64_t multiple = std::max(pad_multiple, 1U);
  const uint64_t most = document_starts.back() == 0 ? 0 : kMaxDocumentLength;
  if (padded_tokens == least || (padded_tokens > least && padded_tokens <= most &&
                                 padded_tokens % multiple == 0)) {
    return absl::OkStatus();
  }
  return BrokenPlan("padded_tokens ", padded_tokens, "; accepted: ", least,
                    ", or a multiple of ", multiple, " above that, up to ", most);
}

absl::Status CheckDocuments(const ShardPlan& plan) {
  const std::vector<uint64_t>& starts = plan.document_starts;
  if (starts.empty() || starts[0] != 0) {
    return BrokenPlan("document_starts does not begin with 0");
  }
  for (size_t i = 0; i < plan.documents(); ++i) {
    const uint64_t length = starts[i + 1] - starts[i];
    if (length < 1 || length > kMaxDocumentLength) {
      return BrokenPlan("document ", i, ": starts at ", starts[i], ", the next at ",
                        starts[i + 1], "; accepted: lengths of 1 to ",
                        kMaxDocumentLength);
    }
  }
  return CheckPaddedTokens(plan.padded_tokens, starts, plan.sharding,
                           plan.pad_multiple);
}

// One column entry per `what`, or none where the sharding does not use the column.
absl::Status CheckSize(absl::string_view column, size_t size, size_t expected) {
  if (size == expected) return absl::OkStatus();
  return BrokenPlan(column, " has ", size, " entries; accepted: ", expected);
}

absl::Status CheckSizes(const ShardPlan& plan) {
  const bool per_document = plan.sharding == Sharding::kPerDocument;
  const size_t documents = per_document ? plan.documents() : 0;
  const size_t slot_starts = per_document ? 0 : plan.slots() + 1;
  absl::Status status = CheckSize("slot_starts", plan.slot_starts.size(), slot_starts);
  status.Update(CheckSize("slot_tokens", plan.slot_tokens.size(), documents));
  status.Update(CheckSize("left_over", plan.left_over.size(), documents));
  status.Update(CheckSize("cursor", plan.cursor.size(), documents));
  const bool hybrid = plan.sharding == Sharding::kHybrid;
  status.Update(CheckSize("owner", plan.owner.size(), hybrid ? plan.documents() : 0));
  return status;
}

absl::Status CheckSlotStarts(const ShardPlan& plan) {
  const uint32_t slots = plan.slots();
  const uint64_t end = plan.sharding == Sharding::kHybrid ? kWholeShare : plan.tokens();
  if (plan.slot_starts[0] != 0 || plan.slot_starts[slots] != end) {
    return BrokenPlan("slot_starts runs from ", plan.slot_starts[0], " to ",
                      plan.slot_starts[slots], "; accepted: 0 to ", end);
  }
  for (uint32_t slot = 0; slot < slots; ++slot) {
    if (plan.slot_starts[slot] > plan.slot_starts[slot + 1]) {
      return BrokenPlan("slot ", slot, ": starts at ", plan.slot_starts[slot],
                        ", the next at ", plan.slot_starts[slot + 1],
                        "; accepted: starts that do not fall");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOwners(const ShardPlan& plan) {
  for (size_t i = 0; i < plan.owner.size(); ++i) {
    if (plan.owner[i] >= plan.context_parallel && plan.owner[i] != kCutDocument) {
      return BrokenPlan("document ", i, ": owner ", plan.owner[i],
                        "; accepted: a rank below ", plan.context_parallel, ", or ",
                        kCutDocument, " (cut)");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDocumentCuts(const ShardPlan& plan) {
  const uint64_t slots = plan.slots();
  const bool padded = plan.pad_multiple != 0;
  const uint64_t end_padding =
      plan.padded_tokens -
      LeastPaddedTokens(plan.document_starts, plan.sharding, plan.pad_multiple);
  uint64_t cursor = 0;
  for (size_t i = 0; i < plan.documents(); ++i) {
    const uint64_t length = plan.length(i);
    const uint64_t cut = plan.slot_tokens[i] * slots + plan.left_over[i];
    if (plan.left_over[i] >= slots || (padded && plan.left_over[i] != 0)) {
      return BrokenPlan("document ", i, ": left_over ", plan.left_over[i],
                        "; accepted: ", padded ? 0 : length % slots);
    }
    const bool last = i + 1 == plan.documents();
    // Without what lies behind the last document.
    const uint64_t own = padded && last ? cut - std::min(cut, end_padding) : cut;
    if (padded ? own < length || own - length >= plan.pad_multiple ||
                     own % plan.pad_multiple != 0
               : cut != length) {
      return BrokenPlan(
          "document ", i, ": is cut as ", cut, " tokens, has ", length,
          padded ? absl::StrCat(" before padding to ", plan.pad_multiple) : "");
    }
    if (plan.cursor[i] != cursor) {
      return BrokenPlan("document ", i, ": cursor ", plan.cursor[i],
                        "; accepted: ", cursor);
    }
    cursor = (cursor + plan.left_over[i]) % slots;
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const ShardPlan& plan) {
  if (absl::Status status = CheckKind(plan); !status.ok()) return status;
  if (absl::Status status = CheckDocuments(plan); !status.ok()) return status;
  if (absl::Status status = CheckSizes(plan); !status.ok()) return status;
  if (absl::Status status = CheckOwners(plan); !status.ok()) return status;
  return plan.sharding == Sharding::kPerDocument ? CheckDocumentCuts(plan)
                                                 : CheckSlotStarts(plan);
}

}  // namespace

absl::Status ValidateSlices(std::span<const uint32_t> lengths, Sharding sharding,
                            uint32_t context_parallel, uint32_t pad_to,
                            std::span<const RankSlices> ranks, uint64_t padded_tokens) {
  if (absl::Status status = ValidateShardRequest(lengths, context_parallel, pad_to);
      !status.ok()) {
    return status;
  }
  if (!IsPlanned(sharding)) {
    return InvalidField("sharding", static_cast<uint32_t>(sharding), kPlanned);
  }
  if (sharding == Sharding::kHybrid && pad_to != 0) {
    return InvalidField("pad_to", pad_to, "0 (no padding) for hybrid");
  }
  if (ranks.size() != context_parallel) {
    return BrokenPlan("slices of ", ranks.size(),
                      " ranks; accepted: ", context_parallel);
  }
  const std::vector<uint64_t> starts = DocumentStarts(lengths);
  const uint32_t multiple = *PadMultiple(context_parallel, pad_to);
  if (padded_tokens == 0) {
    padded_tokens = LeastPaddedTokens(starts, sharding, multiple);
  }
  if (absl::Status status =
          CheckPaddedTokens(padded_tokens, starts, sharding, multiple);
      !status.ok()) {
    return status;
  }
  SliceChecker checker(starts, sharding, context_parallel, multiple, padded_tokens);
  for (uint32_t slot = 0; slot < 2 * context_parallel; ++slot) {
    const RankSlices& slices = ranks[RankOfSlot(slot, sharding, context_parallel)];
    if (absl::Status status = checker.CheckNextSlot(slices); !status.ok()) {
      return status;
    }
  }
  return checker.Finish();
}

absl::Status Validate(const ShardPlan& plan) {
  if (absl::Status status = CheckColumns(plan); !status.ok()) return status;
  SliceChecker checker(plan.document_starts, plan.sharding, plan.context_parallel,
                       plan.pad_multiple, plan.padded_tokens);
  RankSlices slices;
  for (uint32_t slot = 0; slot < plan.slots(); ++slot) {
    ExpandRankInto(plan, plan.RankOf(slot), slices);
    if (absl::Status status = checker.CheckNextSlot(slices); !status.ok()) {
      return status;
    }
  }
  return checker.Finish();
}

absl::Status Validate(const ShardPlan& plan, std::span<const uint32_t> lengths) {
  if (absl::Status status = Validate(plan); !status.ok()) return status;
  if (plan.documents() != lengths.size()) {
    return BrokenPlan("is of ", plan.documents(), " documents, not of ",
                      lengths.size());
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (plan.length(i) != lengths[i]) {
      return BrokenPlan("document ", i, ": has ", plan.length(i),
                        " tokens in the plan, ", lengths[i], " in the micro-batch");
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack
