#include "server/core/sharding/shard_plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace evenpack {
namespace {

// One slot's slices of up to kBlock consecutive documents, the empty ones included.
// Slots are cut by blocks that stay in the first-level cache.
constexpr size_t kBlock = 512;
struct SliceBlock {
  size_t first_document = 0;
  size_t count = 0;
  uint32_t begin[kBlock];
  uint32_t end[kBlock];
};

// How many of each document's left-over tokens went to slots before `slot`. They lie
// in the slots cursor to 2*CP-1 and, `wrapped` of them, from slot 0. In 16 bits and
// without branches, so that compilers make vector code of it.
void LeftOverBefore(std::span<const uint16_t> left_over,
                    std::span<const uint16_t> cursors, uint32_t slots, uint32_t slot,
                    int16_t* __restrict before) {
  const auto slot_count = static_cast<int16_t>(slots);
  const auto at = static_cast<int16_t>(slot);
  constexpr int16_t kZero = 0;
  for (size_t i = 0; i < left_over.size(); ++i) {
    const auto extra = static_cast<int16_t>(left_over[i]);
    const auto cursor = static_cast<int16_t>(cursors[i]);
    const auto past_end = static_cast<int16_t>(cursor + extra - slot_count);
    const int16_t wrapped = std::max(past_end, kZero);
    const auto unwrapped = static_cast<int16_t>(extra - wrapped);
    const auto past_cursor = static_cast<int16_t>(at - cursor);
    const int16_t passed = std::min(std::max(past_cursor, kZero), unwrapped);
    before[i] = static_cast<int16_t>(std::min(at, wrapped) + passed);
  }
}

void CutPaddingFree(const ShardPlan& plan, uint32_t slot, SliceBlock& block) {
  int16_t before[kBlock];
  int16_t before_next[kBlock];
  const std::span<const uint16_t> left_over(
      plan.left_over.data() + block.first_document, block.count);
  const std::span<const uint16_t> cursors(plan.cursor.data() + block.first_document,
                                          block.count);
  LeftOverBefore(left_over, cursors, plan.slots(), slot, before);
  LeftOverBefore(left_over, cursors, plan.slots(), slot + 1, before_next);
  const uint32_t* slot_tokens = plan.slot_tokens.data() + block.first_document;
  for (size_t i = 0; i < block.count; ++i) {
    const uint32_t first = slot_tokens[i] * slot;
    block.begin[i] = first + static_cast<uint32_t>(before[i]);
    block.end[i] = first + slot_tokens[i] + static_cast<uint32_t>(before_next[i]);
  }
}

// A padded document has fewer than 2^32 tokens, since neither the document nor the
// multiple reaches 2^31.
void CutPadded(const ShardPlan& plan, uint32_t slot, SliceBlock& block) {
  const uint32_t* slot_tokens = plan.slot_tokens.data() + block.first_document;
  for (size_t i = 0; i < block.count; ++i) {
    const uint32_t length = plan.length(block.first_document + i);
    const uint32_t first = slot_tokens[i] * slot;
    block.begin[i] = std::min(first, length);
    block.end[i] = std::min(first + slot_tokens[i], length);
  }
}

// Writes the slices that have tokens from index `size` on; returns the size after
// them. `slices` has room for all of the block's.
size_t AppendNonEmpty(const SliceBlock& block, size_t size, RankSlices& slices) {
  uint32_t* document = slices.document.data() + size;
  uint32_t* begin = slices.begin.data() + size;
  uint32_t* end = slices.end.data() + size;
  uint32_t empty = 0;
  for (size_t i = 0; i < block.count; ++i) empty += block.begin[i] == block.end[i];
  const auto first_document = static_cast<uint32_t>(block.first_document);
  if (empty == 0) {
    std::iota(document, document + block.count, first_document);
    std::copy_n(block.begin, block.count, begin);
    std::copy_n(block.end, block.count, end);
    return size + block.count;
  }
  // Each is written, and the next takes its place if it was empty: cheaper than a
  // branch, which short documents make unpredictable.
  size_t kept = 0;
  for (uint32_t i = 0; i < block.count; ++i) {
    document[kept] = first_document + i;
    begin[kept] = block.begin[i];
    end[kept] = block.end[i];
    kept += block.begin[i] != block.end[i] ? 1 : 0;
  }
  return size + kept;
}

void Resize(RankSlices& slices, size_t size) {
  slices.document.resize(size);
  slices.begin.resize(size);
  slices.end.resize(size);
}

// As AppendNonEmpty, for the slot of every document.
size_t AppendSlotOfDocuments(const ShardPlan& plan, uint32_t slot, size_t size,
                             RankSlices& slices) {
  SliceBlock block;
  for (size_t start = 0; start < plan.documents(); start += kBlock) {
    block.first_document = start;
    block.count = std::min(kBlock, plan.documents() - start);
    if (plan.pad_multiple == 0) {
      CutPaddingFree(plan, slot, block);
    } else {
      CutPadded(plan, slot, block);
    }
    size = AppendNonEmpty(block, size, slices);
  }
  return size;
}

void AppendSlotOfSequence(const ShardPlan& plan, uint32_t slot, RankSlices& slices) {
  const std::vector<uint64_t>& starts = plan.document_starts;
  uint64_t token = plan.slot_starts[slot];
  const uint64_t slot_end = plan.slot_starts[slot + 1];
  if (token == slot_end) return;
  const auto after = std::upper_bound(starts.begin(), starts.end(), token);
  auto document = static_cast<size_t>(after - starts.begin()) - 1;
  for (; token < slot_end; ++document) {
    const uint64_t slice_end = std::min(slot_end, starts[document + 1]);
    slices.document.push_back(static_cast<uint32_t>(document));
    slices.begin.push_back(static_cast<uint32_t>(token - starts[document]));
    slices.end.push_back(static_cast<uint32_t>(slice_end - starts[document]));
    token = slice_end;
  }
}

// The first token of a slot in a cut document of hybrid sharding.
uint32_t CutAt(uint32_t length, uint64_t share) {
  static_assert(kWholeShare == uint64_t{1} << 32);
  return static_cast<uint32_t>(uint64_t{length} * share >> 32);
}

void AppendSlotOfHybrid(const ShardPlan& plan, uint32_t slot, RankSlices& slices) {
  const uint64_t first = plan.slot_starts[slot];
  const uint64_t next = plan.slot_starts[slot + 1];
  for (size_t i = 0; i < plan.documents(); ++i) {
    // A rank's number is that of its front slot.
    const bool cut = plan.owner[i] == kCutDocument;
    if (!cut && plan.owner[i] != slot) continue;
    const uint32_t length = plan.length(i);
    const uint32_t begin = cut ? CutAt(length, first) : 0;
    const uint32_t end = cut ? CutAt(length, next) : length;
    if (begin == end) continue;
    slices.document.push_back(static_cast<uint32_t>(i));
    slices.begin.push_back(begin);
    slices.end.push_back(end);
  }
}

uint64_t TokensOfHybrid(const ShardPlan& plan, uint32_t rank) {
  const auto [front, back] = plan.SlotsOf(rank);
  const std::vector<uint64_t>& starts = plan.slot_starts;
  uint64_t tokens = 0;
  for (size_t i = 0; i < plan.documents(); ++i) {
    const uint32_t length = plan.length(i);
    if (plan.owner[i] == rank) tokens += length;
    if (plan.owner[i] != kCutDocument) continue;
    tokens += CutAt(length, starts[front + 1]) - CutAt(length, starts[front]);
    tokens += CutAt(length, starts[back + 1]) - CutAt(length, starts[back]);
  }
  return tokens;
}

uint64_t SumOf(const RankSlices& slices) {
  uint64_t tokens = 0;
  for (size_t i = 0; i < slices.size(); ++i) tokens += slices.end[i] - slices.begin[i];
  return tokens;
}

uint64_t TokensOf(const ShardPlan& plan, uint32_t rank, const RankSlices& slices) {
  const RankSlots slots = plan.SlotsOf(rank);
  if (plan.sharding == Sharding::kHybrid) return SumOf(slices);
  if (plan.sharding != Sharding::kPerDocument) {
    const std::vector<uint64_t>& starts = plan.slot_starts;
    return starts[slots.front + 1] - starts[slots.front] + starts[slots.back + 1] -
           starts[slots.back];
  }
  if (plan.pad_multiple == 0) {
    // The first T mod 2*CP slots have one token more.
    const uint64_t more = plan.tokens() % plan.slots();
    return plan.tokens() / plan.slots() * 2 + (slots.front < more ? 1 : 0) +
           (slots.back < more ? 1 : 0);
  }
  return SumOf(slices);
}

// An even share of the padding behind the last document.
uint64_t PaddingShare(const ShardPlan& plan, uint32_t rank) {
  const uint64_t padding = plan.padded_tokens - plan.tokens();
  const uint64_t ranks = plan.context_parallel;
  return padding / ranks + (rank < padding % ranks ? 1 : 0);
}

}  // namespace

std::vector<uint64_t> DocumentStarts(std::span<const uint32_t> lengths) {
  std::vector<uint64_t> starts(lengths.size() + 1);
  // Summed apart from the column, whose last entry would be a load behind its store.
  uint64_t tokens = 0;
  for (size_t i = 0; i < lengths.size(); ++i) starts[i + 1] = tokens += lengths[i];
  return starts;
}

uint64_t CutTokens(const ShardPlan& plan) {
  if (plan.sharding != Sharding::kHybrid) return plan.tokens();
  uint64_t tokens = 0;
  for (size_t i = 0; i < plan.documents(); ++i) {
    if (plan.owner[i] == kCutDocument) tokens += plan.length(i);
  }
  return tokens;
}

uint64_t HeldTokens(const ShardPlan& plan, uint32_t rank) {
  if (plan.sharding == Sharding::kHybrid) {
    return TokensOfHybrid(plan, rank) + PaddingShare(plan, rank);
  }
  const uint64_t ranks = plan.context_parallel;
  // Its place among the ranks by tokens, most first. Where more than CP slots have one
  // token more, the last ranks have two such slots.
  uint64_t place = rank;
  const uint64_t more = plan.tokens() % plan.slots();
  if (plan.sharding != Sharding::kContiguous && more > ranks) {
    place = (rank + more - ranks) % ranks;
  }
  return plan.padded_tokens / ranks + (place < plan.padded_tokens % ranks ? 1 : 0);
}

void ExpandRankInto(const ShardPlan& plan, uint32_t rank, RankSlices& slices) {
  assert(rank < plan.context_parallel);
  const auto [front, back] = plan.SlotsOf(rank);
  if (plan.sharding == Sharding::kPerDocument) {
    Resize(slices, 2 * plan.documents());
    slices.front_slices = AppendSlotOfDocuments(plan, front, 0, slices);
    Resize(slices, AppendSlotOfDocuments(plan, back, slices.front_slices, slices));
  } else {
    const auto append =
        plan.sharding == Sharding::kHybrid ? AppendSlotOfHybrid : AppendSlotOfSequence;
    Resize(slices, 0);
    append(plan, front, slices);
    slices.front_slices = slices.size();
    append(plan, back, slices);
  }
  slices.tokens = TokensOf(plan, rank, slices);
  slices.padding = plan.sharding == Sharding::kHybrid
                       ? PaddingShare(plan, rank)
                       : HeldTokens(plan, rank) - slices.tokens;
}

RankSlices ExpandRank(const ShardPlan& plan, uint32_t rank) {
  RankSlices slices;
  ExpandRankInto(plan, rank, slices);
  slices.document.shrink_to_fit();
  slices.begin.shrink_to_fit();
  slices.end.shrink_to_fit();
  return slices;
}

std::vector<RankSlices> ExpandAllRanks(const ShardPlan& plan) {
  std::vector<RankSlices> ranks;
  ranks.reserve(plan.context_parallel);
  // Copies of a scratch expansion are no larger than they need to be.
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    ranks.push_back(slices);
  }
  return ranks;
}

}  // namespace evenpack
