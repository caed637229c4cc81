#include "client/cpp/wire_shard_plan.h"

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "client/cpp/data_loss.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/document/document.h"
#include "server/core/sharding/shard_request.h"

namespace evenpack::client {
namespace {

absl::Status CheckSize(const char* column, int size, uint64_t expected) {
  if (static_cast<uint64_t>(size) == expected) return absl::OkStatus();
  return DataLoss(column, " has ", size, " entries; expected: ", expected);
}

std::optional<Sharding> ReadSharding(v1::Sharding sharding) {
  switch (sharding) {
    case v1::SHARDING_PER_SEQUENCE:
      return Sharding::kPerSequence;
    case v1::SHARDING_PER_DOCUMENT:
      return Sharding::kPerDocument;
    case v1::SHARDING_CONTIGUOUS:
      return Sharding::kContiguous;
    case v1::SHARDING_HYBRID:
      return Sharding::kHybrid;
    default:
      return std::nullopt;
  }
}

absl::Status ReadSlotStarts(const v1::ShardPlan& message, ShardPlan& plan) {
  absl::Status status =
      CheckSize("plan.slot_starts", message.slot_starts_size(), plan.slots() + 1);
  status.Update(CheckSize("plan.slot_tokens", message.slot_tokens_size(), 0));
  if (!status.ok()) return status;
  plan.slot_starts.assign(message.slot_starts().begin(), message.slot_starts().end());
  uint64_t previous = 0;
  for (const uint64_t start : plan.slot_starts) {
    if (start < previous) return DataLoss("plan.slot_starts falls at ", start);
    previous = start;
  }
  const uint64_t end = plan.sharding == Sharding::kHybrid ? kWholeShare : plan.tokens();
  if (plan.slot_starts.front() != 0 || plan.slot_starts.back() != end) {
    return DataLoss("plan.slot_starts runs from ", plan.slot_starts.front(), " to ",
                    plan.slot_starts.back(), "; expected: 0 to ", end);
  }
  return absl::OkStatus();
}

absl::Status ReadOwners(const v1::ShardPlan& message, ShardPlan& plan) {
  const bool hybrid = plan.sharding == Sharding::kHybrid;
  absl::Status status =
      CheckSize("plan.owner", message.owner_size(), hybrid ? plan.documents() : 0);
  if (!status.ok()) return status;
  if (hybrid && plan.pad_multiple != 0) {
    return DataLoss("plan.pad_multiple is ", plan.pad_multiple,
                    "; expected: 0 with hybrid sharding");
  }
  for (const uint32_t owner : message.owner()) {
    if (owner > plan.context_parallel) {
      return DataLoss("plan.owner is ", owner, "; expected: 0 (cut) to ",
                      plan.context_parallel, ", one more than a rank");
    }
    plan.owner.push_back(owner == 0 ? kCutDocument : static_cast<uint16_t>(owner - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckCut(const ShardPlan& plan, size_t document, uint32_t left_over,
                      uint32_t cursor) {
  const uint64_t length = plan.length(document);
  const uint64_t in_slots = uint64_t{plan.slot_tokens[document]} * plan.slots();
  const bool exact = in_slots + left_over == length && left_over < plan.slots() &&
                     cursor < plan.slots();
  const bool padded =
      left_over == 0 && cursor == 0 && in_slots >= length && in_slots <= UINT32_MAX;
  if (plan.pad_multiple == 0 ? exact : padded) return absl::OkStatus();
  return DataLoss("plan: document ", document, " of ", length, " tokens is cut as ",
                  plan.slot_tokens[document], " a slot and ", left_over,
                  " left over from slot ", cursor, " on, with ", plan.slots(),
                  " slots");
}

absl::Status ReadCuts(const v1::ShardPlan& message, ShardPlan& plan) {
  absl::Status status = CheckSize("plan.slot_starts", message.slot_starts_size(), 0);
  status.Update(
      CheckSize("plan.slot_tokens", message.slot_tokens_size(), plan.documents()));
  if (message.left_over_size() != 0) {
    status.Update(
        CheckSize("plan.left_over", message.left_over_size(), plan.documents()));
  }
  if (message.cursor_size() != 0) {
    status.Update(CheckSize("plan.cursor", message.cursor_size(), plan.documents()));
  }
  if (!status.ok()) return status;
  plan.slot_tokens.assign(message.slot_tokens().begin(), message.slot_tokens().end());
  plan.left_over.resize(plan.documents());
  plan.cursor.resize(plan.documents());
  uint64_t padded_tokens = 0;
  for (size_t i = 0; i < plan.documents(); ++i) {
    const auto at = static_cast<int>(i);
    const uint32_t left_over =
        message.left_over_size() == 0 ? 0 : message.left_over(at);
    const uint32_t cursor = message.cursor_size() == 0 ? 0 : message.cursor(at);
    status = CheckCut(plan, i, left_over, cursor);
    if (!status.ok()) return status;
    plan.left_over[i] = static_cast<uint16_t>(left_over);
    plan.cursor[i] = static_cast<uint16_t>(cursor);
    padded_tokens += uint64_t{plan.slot_tokens[i]} * plan.slots();
  }
  if (plan.pad_multiple != 0 && plan.padded_tokens != padded_tokens) {
    return DataLoss("plan.padded_tokens is ", plan.padded_tokens,
                    "; expected: ", padded_tokens, ", what its documents have");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardPlan> ReadShardPlan(const v1::ShardPlan& message,
                                        std::span<const uint32_t> lengths) {
  const std::optional<Sharding> sharding = ReadSharding(message.sharding());
  if (!sharding.has_value()) return DataLoss("plan.sharding is ", message.sharding());
  if (message.context_parallel() < 1 ||
      message.context_parallel() > kMaxContextParallel) {
    return DataLoss("plan.context_parallel is ", message.context_parallel(),
                    "; expected: 1 to ", kMaxContextParallel);
  }
  ShardPlan plan;
  plan.sharding = *sharding;
  plan.context_parallel = message.context_parallel();
  plan.pad_multiple = message.pad_multiple();
  plan.padded_tokens = message.padded_tokens();
  plan.document_starts = DocumentStarts(lengths);
  if (plan.padded_tokens < plan.tokens() || plan.padded_tokens > kMaxDocumentLength) {
    return DataLoss("plan.padded_tokens is ", plan.padded_tokens,
                    "; expected: ", plan.tokens(), " to ", kMaxDocumentLength);
  }
  absl::Status status = *sharding == Sharding::kPerDocument
                            ? ReadCuts(message, plan)
                            : ReadSlotStarts(message, plan);
  status.Update(ReadOwners(message, plan));
  if (!status.ok()) return status;
  return plan;
}

absl::StatusOr<RankSlices> ReadRankSlices(const v1::RankSlices& message,
                                          std::span<const uint32_t> lengths) {
  const auto count = static_cast<uint64_t>(message.document_size());
  absl::Status status = CheckSize("slices.begin", message.begin_size(), count);
  status.Update(CheckSize("slices.end", message.end_size(), count));
  if (!status.ok()) return status;
  for (int i = 0; i < message.document_size(); ++i) {
    const uint32_t document = message.document(i);
    if (document >= lengths.size() || message.begin(i) >= message.end(i) ||
        message.end(i) > lengths[document]) {
      return DataLoss("slice ", i, " is tokens ", message.begin(i), " to ",
                      message.end(i), " of document ", document, ", which isn't there");
    }
  }
  RankSlices slices;
  slices.document.assign(message.document().begin(), message.document().end());
  slices.begin.assign(message.begin().begin(), message.begin().end());
  slices.end.assign(message.end().begin(), message.end().end());
  slices.front_slices = message.front_slices();
  slices.tokens = message.tokens();
  slices.padding = message.padding();
  return slices;
}

}  // namespace evenpack::client
