#include "server/core/sharding/slice_checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

uint64_t RoundUp(uint64_t tokens, uint64_t multiple) {
  return (tokens + multiple - 1) / multiple * multiple;
}

template <typename... Parts>
absl::Status BrokenSlices(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat("sharding: ", parts...));
}

template <typename... Parts>
absl::Status BrokenAt(uint32_t rank, uint32_t document, uint64_t token,
                      const Parts&... parts) {
  return BrokenSlices("rank ", rank, ", document ", document, ", token ", token, ": ",
                      parts...);
}

}  // namespace

uint64_t LeastPaddedTokens(std::span<const uint64_t> document_starts, Sharding sharding,
                           uint32_t pad_multiple) {
  if (pad_multiple == 0) return document_starts.back();
  if (sharding != Sharding::kPerDocument) {
    return RoundUp(document_starts.back(), pad_multiple);
  }
  uint64_t tokens = 0;
  for (size_t i = 0; i + 1 < document_starts.size(); ++i) {
    tokens += RoundUp(document_starts[i + 1] - document_starts[i], pad_multiple);
  }
  return tokens;
}

SliceChecker::SliceChecker(std::span<const uint64_t> document_starts, Sharding sharding,
                           uint32_t context_parallel, uint32_t pad_multiple,
                           uint64_t padded_tokens)
    : document_starts_(document_starts),
      sharding_(sharding),
      context_parallel_(context_parallel),
      slots_(2 * context_parallel),
      pad_multiple_(pad_multiple),
      padded_tokens_(padded_tokens),
      end_padding_(padded_tokens -
                   LeastPaddedTokens(document_starts, sharding, pad_multiple)),
      covered_(document_starts.size() - 1),
      slices_(document_starts.size() - 1),
      slot_tokens_(slots_),
      rank_padding_(context_parallel) {}

absl::Status SliceChecker::CheckNextSlot(const RankSlices& slices) {
  const uint32_t rank = RankOf(slot_);
  if (absl::Status status = CheckForm(rank, slices); !status.ok()) return status;
  const bool front = slot_ == SlotsOfRank(rank, sharding_, context_parallel_).front;
  const size_t from = front ? 0 : slices.front_slices;
  const size_t to = front ? slices.front_slices : slices.size();
  for (size_t i = from; i < to; ++i) {
    const uint32_t document = slices.document[i];
    if (document >= covered_.size()) {
      return BrokenAt(rank, document, slices.begin[i], "there are ", covered_.size(),
                      " documents");
    }
    if (i > from && document <= slices.document[i - 1]) {
      return BrokenAt(rank, document, slices.begin[i],
                      "not rank-major: follows document ", slices.document[i - 1],
                      " in the ", front ? "front" : "back", " slot");
    }
    absl::Status status = CheckSlice(rank, document, slices.begin[i], slices.end[i]);
    if (!status.ok()) return status;
  }
  rank_padding_[rank] = slices.padding;
  ++slot_;
  return absl::OkStatus();
}

absl::Status SliceChecker::CheckForm(uint32_t rank, const RankSlices& slices) {
  const size_t size = slices.document.size();
  if (slices.begin.size() != size || slices.end.size() != size) {
    return BrokenSlices("rank ", rank, ": columns of ", size, ", ", slices.begin.size(),
                        " and ", slices.end.size(), " slices");
  }
  if (slices.front_slices > size) {
    return BrokenSlices("rank ", rank, ": front_slices ", slices.front_slices, " of ",
                        size, " slices");
  }
  uint64_t tokens = 0;
  for (size_t i = 0; i < size; ++i) {
    if (slices.begin[i] >= slices.end[i]) {
      return BrokenAt(rank, slices.document[i], slices.begin[i],
                      "the slice ends at token ", slices.end[i],
                      ", so it has no tokens");
    }
    tokens += slices.end[i] - slices.begin[i];
  }
  if (slices.tokens != tokens) {
    return BrokenSlices("rank ", rank, ": tokens ", slices.tokens,
                        ", but its slices have ", tokens);
  }
  return absl::OkStatus();
}

absl::Status SliceChecker::CheckSlice(uint32_t rank, uint32_t document, uint32_t begin,
                                      uint32_t end) {
  if (end > length(document)) {
    return BrokenAt(rank, document, begin, "the slice ends at token ", end,
                    ", the document at ", length(document));
  }
  if (begin < covered_[document]) {
    return BrokenAt(rank, document, begin, "is in an earlier slot too");
  }
  if (begin > covered_[document]) {
    return BrokenAt(rank, document, begin, "the slice begins here, but token ",
                    covered_[document], " is in no earlier slot");
  }
  if (sharding_ == Sharding::kPerDocument) {
    absl::Status status = CheckCutOfDocument(rank, document, begin, end);
    if (!status.ok()) return status;
  } else if (sharding_ != Sharding::kHybrid &&
             document_starts_[document] + begin != sequence_covered_) {
    return BrokenAt(
        rank, document, begin, "is token ", document_starts_[document] + begin,
        " of the sequence, of which the slots so far cover ", sequence_covered_);
  }
  covered_[document] = end;
  ++slices_[document];
  sequence_covered_ += end - begin;
  slot_tokens_[slot_] += end - begin;
  return absl::OkStatus();
}

absl::Status SliceChecker::CheckCutOfDocument(uint32_t rank, uint32_t document,
                                              uint32_t begin, uint32_t end) {
  const uint64_t tokens = length(document);
  if (pad_multiple_ == 0) {
    const uint64_t least = tokens / slots_;
    const uint64_t most = (tokens + slots_ - 1) / slots_;
    if (end - begin < least || end - begin > most) {
      return BrokenAt(rank, document, begin, "the slice has ", end - begin,
                      " tokens, an even cut ", least, " to ", most);
    }
    return absl::OkStatus();
  }
  const uint64_t step = PaddedRange(document) / slots_;
  const uint64_t slot_begin = std::min(tokens, slot_ * step);
  const uint64_t slot_end = std::min(tokens, (slot_ + 1) * step);
  if (begin != slot_begin || end != slot_end) {
    return BrokenAt(rank, document, begin, "the slice ends at token ", end,
                    ", but slot ", slot_, " of the padded document is ", slot_begin,
                    " to ", slot_end);
  }
  return absl::OkStatus();
}

absl::Status SliceChecker::Finish() const {
  if (slot_ != slots_) {
    return BrokenSlices(slot_, " slots were given, context_parallel ",
                        context_parallel_, " has ", slots_);
  }
  if (absl::Status status = CheckCover(); !status.ok()) return status;
  if (sharding_ == Sharding::kHybrid) return CheckPaddingShares();
  return pad_multiple_ == 0 ? CheckBalance() : CheckPadding();
}

absl::Status SliceChecker::CheckCover() const {
  for (size_t document = 0; document < covered_.size(); ++document) {
    if (covered_[document] != length(document)) {
      return BrokenSlices("document ", document, ", token ", covered_[document],
                          ": is on no rank");
    }
    // Every slice of an even cut has its share; an omitted one would be a share of 0.
    if (sharding_ == Sharding::kPerDocument && pad_multiple_ == 0 &&
        slices_[document] != std::min(slots_, length(document))) {
      return BrokenSlices("document ", document, ", token 0: is cut in ",
                          slices_[document], " slices, an even cut makes ",
                          std::min(slots_, length(document)));
    }
  }
  return absl::OkStatus();
}

uint64_t SliceChecker::RankTokens(uint32_t rank) const {
  const RankSlots slots = SlotsOfRank(rank, sharding_, context_parallel_);
  return slot_tokens_[slots.front] + slot_tokens_[slots.back];
}

uint64_t SliceChecker::PaddedRange(size_t document) const {
  const uint64_t range = RoundUp(length(document), pad_multiple_);
  return document + 1 == covered_.size() ? range + end_padding_ : range;
}

absl::Status SliceChecker::CheckBalance() const {
  const uint64_t total = document_starts_.back();
  const auto even = [total](uint64_t tokens, uint64_t parts) {
    return tokens == total / parts || tokens == (total + parts - 1) / parts;
  };
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    if (!even(slot_tokens_[slot], slots_)) {
      return BrokenSlices("rank ", RankOf(slot), ": slot ", slot, " has ",
                          slot_tokens_[slot], " tokens, an even share of ", total,
                          " is ", total / slots_, " to ",
                          (total + slots_ - 1) / slots_);
    }
  }
  for (uint32_t rank = 0; rank < context_parallel_; ++rank) {
    const uint64_t tokens = RankTokens(rank);
    if (!even(tokens, context_parallel_)) {
      return BrokenSlices("rank ", rank, ": has ", tokens, " tokens, an even share of ",
                          total, " is ", total / context_parallel_, " to ",
                          (total + context_parallel_ - 1) / context_parallel_);
    }
  }
  return CheckEndPadding();
}

absl::Status SliceChecker::CheckEndPadding() const {
  const uint64_t least_held = padded_tokens_ / context_parallel_;
  const uint64_t least_padding = end_padding_ / context_parallel_;
  uint64_t total = 0;
  for (uint32_t rank = 0; rank < context_parallel_; ++rank) {
    const uint64_t padding = rank_padding_[rank];
    const uint64_t held = RankTokens(rank) + padding;
    if (padding < least_padding || padding > least_padding + 1 || held < least_held ||
        held > least_held + 1) {
      return BrokenSlices("rank ", rank, ": padding ", padding, " beside ",
                          RankTokens(rank), " tokens, an even share of ", end_padding_,
                          " in ", padded_tokens_);
    }
    total += padding;
  }
  if (total != end_padding_) {
    return BrokenSlices("padding of all ranks ", total, ", that of the sequence ",
                        end_padding_);
  }
  return absl::OkStatus();
}

absl::Status SliceChecker::CheckPaddingShares() const {
  for (uint32_t rank = 0; rank < context_parallel_; ++rank) {
    const uint64_t share = end_padding_ / context_parallel_ +
                           (rank < end_padding_ % context_parallel_ ? 1 : 0);
    if (rank_padding_[rank] != share) {
      return BrokenSlices("rank ", rank, ": padding ", rank_padding_[rank],
                          ", its share of ", end_padding_, " is ", share);
    }
  }
  return absl::OkStatus();
}

absl::Status SliceChecker::CheckPadding() const {
  const uint64_t slot_share = padded_tokens_ / slots_;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    // Padding sits at the sequence's end; that of documents was checked by slices.
    const uint64_t before = std::min(slot * slot_share, sequence_covered_);
    const uint64_t share = std::min(slot_share, sequence_covered_ - before);
    if (sharding_ != Sharding::kPerDocument && slot_tokens_[slot] != share) {
      return BrokenSlices("rank ", RankOf(slot), ": slot ", slot, " has ",
                          slot_tokens_[slot],
                          " tokens, its part of the padded sequence ", share);
    }
  }
  for (uint32_t rank = 0; rank < context_parallel_; ++rank) {
    const uint64_t tokens = RankTokens(rank);
    if (tokens + rank_padding_[rank] != 2 * slot_share) {
      return BrokenSlices("rank ", rank, ": ", tokens, " tokens and padding ",
                          rank_padding_[rank], ", the padded share of a rank is ",
                          2 * slot_share);
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack
