// Checks the slices of a sharding slot by slot, in slot order, so that a plan can be
// proven in O(documents) memory: what validate_plan is made of.
#ifndef EVENPACK_SERVER_CORE_SHARDING_SLICE_CHECKER_H_
#define EVENPACK_SERVER_CORE_SHARDING_SLICE_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// The checks are those listed at ValidateSlices; all failures are
// FAILED_PRECONDITION. Not thread-safe; an object checks one sharding.
class SliceChecker {
 public:
  // `document_starts` as in ShardPlan, rising from 0; it must outlive the object.
  // pad_multiple: 0, as it must be for kHybrid, or a multiple of 2 * context_parallel.
  // padded_tokens: what
  // LeastPaddedTokens says, or a greater multiple of it.
  SliceChecker(std::span<const uint64_t> document_starts, Sharding sharding,
               uint32_t context_parallel, uint32_t pad_multiple,
               uint64_t padded_tokens);

  // Called for slot 0, 1, ... 2*CP-1 with all the slices of the rank that owns it.
  absl::Status CheckNextSlot(const RankSlices& slices);
  // Called after the last slot.
  absl::Status Finish() const;

 private:
  uint32_t length(size_t document) const {
    return static_cast<uint32_t>(document_starts_[document + 1] -
                                 document_starts_[document]);
  }
  uint32_t RankOf(uint32_t slot) const {
    return RankOfSlot(slot, sharding_, context_parallel_);
  }
  uint64_t RankTokens(uint32_t rank) const;
  // Of one document.
  uint64_t PaddedRange(size_t document) const;
  static absl::Status CheckForm(uint32_t rank, const RankSlices& slices);
  absl::Status CheckSlice(uint32_t rank, uint32_t document, uint32_t begin,
                          uint32_t end);
  absl::Status CheckCutOfDocument(uint32_t rank, uint32_t document, uint32_t begin,
                                  uint32_t end);
  absl::Status CheckCover() const;
  absl::Status CheckBalance() const;
  absl::Status CheckEndPadding() const;
  absl::Status CheckPaddingShares() const;
  absl::Status CheckPadding() const;

  std::span<const uint64_t> document_starts_;
  Sharding sharding_;
  uint32_t context_parallel_;
  uint32_t slots_;
  uint32_t pad_multiple_;
  uint64_t padded_tokens_;
  // Of padded_tokens_, the padding behind the last document that the sharding doesn't
  // need.
  uint64_t end_padding_;

  uint32_t slot_ = 0;
  // Per document: tokens in the slots so far, and slices.
  std::vector<uint32_t> covered_;
  std::vector<uint32_t> slices_;
  // Tokens of the sequence in the slots so far.
  uint64_t sequence_covered_ = 0;
  // Per slot and per rank.
  std::vector<uint64_t> slot_tokens_;
  std::vector<uint64_t> rank_padding_;
};

// Tokens of the documents with the padding that the sharding needs.
uint64_t LeastPaddedTokens(std::span<const uint64_t> document_starts, Sharding sharding,
                           uint32_t pad_multiple);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_SLICE_CHECKER_H_
