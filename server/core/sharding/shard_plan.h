// A shard plan: which tokens of one micro-batch each rank of a context-parallel (CP)
// group computes queries for.
//
// The tokens are cut in 2*CP slots, numbered in token order; rank r owns slot r (its
// front slot) and slot 2*CP-1-r (its back slot), so that a cheap early slot goes with
// a dear late one (WLB-LLM, section 5; docs/sharding.md has a picture). Only under
// contiguous sharding it owns slots 2r and 2r+1.
//
// Under hybrid sharding a document is either whole in the front slot of a rank, or cut
// over all slots.
//
// A plan holds columns over documents or over slots, never one row per document and
// slot: 16 bytes a document at most. ExpandRank makes one rank's slices from it.
//
// Plain values: concurrent reading is safe.
#ifndef EVENPACK_SERVER_CORE_SHARDING_SHARD_PLAN_H_
#define EVENPACK_SERVER_CORE_SHARDING_SHARD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/document/micro_batch.h"

namespace evenpack {

// The two slots of a rank, the one of earlier tokens first.
struct RankSlots {
  uint32_t front = 0;
  uint32_t back = 0;
};
inline RankSlots SlotsOfRank(uint32_t rank, Sharding sharding,
                             uint32_t context_parallel) {
  if (sharding == Sharding::kContiguous) return {2 * rank, 2 * rank + 1};
  return {rank, 2 * context_parallel - 1 - rank};
}
// The rank that owns a slot.
inline uint32_t RankOfSlot(uint32_t slot, Sharding sharding,
                           uint32_t context_parallel) {
  if (sharding == Sharding::kContiguous) return slot / 2;
  return slot < context_parallel ? slot : 2 * context_parallel - 1 - slot;
}

// Of the slots' shares of a cut document under hybrid sharding: the whole document.
inline constexpr uint64_t kWholeShare = uint64_t{1} << 32;
// In place of a rank: the document is cut.
inline constexpr uint16_t kCutDocument = 0xffff;

struct ShardPlan {
  // Never kAdaptive. It says which of the columns below are filled.
  Sharding sharding = Sharding::kPerSequence;
  // Ranks, 1 to kMaxContextParallel.
  uint32_t context_parallel = 1;
  // Each document (per_document) or the sequence (the others) is padded at its end to a
  // multiple of this, itself a multiple of 2*CP. 0: padding-free, as hybrid always is.
  uint32_t pad_multiple = 0;
  // Tokens with padding; what that is beyond pad_multiple's lies behind the last
  // document (pad_end.h). With a pad_multiple a multiple of it: a CP-th of it per rank.
  uint64_t padded_tokens = 0;

  // First token of each document in the unpadded sequence, then the number of tokens:
  // documents + 1 entries.
  std::vector<uint64_t> document_starts = {0};

  // per_sequence, contiguous: first token of each slot in the unpadded sequence, then
  // the number of tokens: 2*CP + 1 entries. Slots of padding alone begin and end at the
  // last.
  // hybrid: which part of each cut document lies before the slot, in units of
  // 1 / kWholeShare, from 0 to kWholeShare: slot s begins at token
  // length * slot_starts[s] / kWholeShare, rounded down.
  std::vector<uint64_t> slot_starts;

  // per_document, one entry per document. Each slot gets slot_tokens; the slots
  // cursor, cursor + 1, ... (mod 2*CP) get one more, left_over of them. With padding
  // slot_tokens counts it and the other two are 0.
  std::vector<uint32_t> slot_tokens;
  std::vector<uint16_t> left_over;
  std::vector<uint16_t> cursor;

  // hybrid, one entry per document: the rank that has it whole, or kCutDocument.
  std::vector<uint16_t> owner;

  uint32_t slots() const { return 2 * context_parallel; }
  uint32_t RankOf(uint32_t slot) const {
    return RankOfSlot(slot, sharding, context_parallel);
  }
  RankSlots SlotsOf(uint32_t rank) const {
    return SlotsOfRank(rank, sharding, context_parallel);
  }
  size_t documents() const { return document_starts.size() - 1; }
  uint64_t tokens() const { return document_starts.back(); }
  uint32_t length(size_t document) const {
    return static_cast<uint32_t>(document_starts[document + 1] -
                                 document_starts[document]);
  }

  friend bool operator==(const ShardPlan&, const ShardPlan&) = default;
};

// Where each document starts in the packed sequence, then its end: lengths.size() + 1
// entries.
std::vector<uint64_t> DocumentStarts(std::span<const uint32_t> lengths);

// The slices of one rank in local order, which is rank-major: the front slot's slices
// by document, then the back slot's by document. Slice i is the tokens begin[i] to
// end[i] - 1 of document[i]; its queries attend to that document's keys 0 to
// end[i] - 1. Every slice has a token at least.
struct RankSlices {
  // Index into the micro-batch.
  std::vector<uint32_t> document;
  std::vector<uint32_t> begin;
  std::vector<uint32_t> end;
  // How many of the slices belong to the front slot.
  size_t front_slices = 0;
  // Sum of end - begin.
  uint64_t tokens = 0;
  // Tokens of padding that the rank holds besides.
  uint64_t padding = 0;

  size_t size() const { return document.size(); }

  friend bool operator==(const RankSlices&, const RankSlices&) = default;
};

// Tokens of documents that are cut over ranks, whose keys and values travel. All
// tokens but under hybrid sharding.
uint64_t CutTokens(const ShardPlan& plan);

// Tokens and padding that a rank holds. With a pad_multiple the same for all; else
// shares of padded_tokens within one of each other, the larger ones for the ranks with
// most tokens, by rank. Under hybrid sharding the rank's tokens and an even share of
// the padding, the larger ones for the first ranks. rank < plan.context_parallel.
uint64_t HeldTokens(const ShardPlan& plan, uint32_t rank);

// rank < plan.context_parallel; the plan comes from one of the planners or has passed
// Validate. Time: per_document and hybrid O(documents); the others O(log documents +
// slices).
RankSlices ExpandRank(const ShardPlan& plan, uint32_t rank);
// The same into `slices`, whose memory is used again.
void ExpandRankInto(const ShardPlan& plan, uint32_t rank, RankSlices& slices);
// All ranks in order: up to documents * 2*CP slices in memory at once.
std::vector<RankSlices> ExpandAllRanks(const ShardPlan& plan);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_SHARD_PLAN_H_
