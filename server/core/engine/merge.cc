#include "server/core/engine/merge.h"

#include <utility>

namespace evenpack {
namespace {

// The stream whose turn is next, of those that are in.
std::optional<size_t> MostCredit(std::span<const StreamSpec> streams,
                                 const MergeCursor& cursor) {
  std::optional<size_t> best;
  int64_t best_credit = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (cursor.out[i] != 0) continue;
    const int64_t credit = cursor.credit[i] + streams[i].weight;
    if (!best.has_value() || credit > best_credit) {
      best = i;
      best_credit = credit;
    }
  }
  return best;
}

}  // namespace

MergeReader::MergeReader(MergeMode mode, std::span<const StreamSpec> streams,
                         std::vector<MergeInput> inputs, MergeCursor cursor)
    : mode_(mode),
      streams_(streams),
      inputs_(std::move(inputs)),
      cursor_(std::move(cursor)),
      taken_(inputs_.size(), 0) {}

bool MergeReader::Exhausted() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].ended || HasDocument(i)) return false;
  }
  return true;
}

const Document* MergeReader::NextInterleaved() {
  while (true) {
    const std::optional<size_t> turn = MostCredit(streams_, cursor_);
    if (!turn.has_value()) return nullptr;
    if (HasDocument(*turn)) {
      for (size_t i = 0; i < streams_.size(); ++i) {
        if (cursor_.out[i] != 0) continue;
        cursor_.credit[i] += streams_[i].weight;
        cursor_.credit[*turn] -= streams_[i].weight;
      }
      return Take(*turn);
    }
    if (!inputs_[*turn].ended) {
      awaited_ = turn;
      return nullptr;
    }
    cursor_.out[*turn] = 1;
    cursor_.credit[*turn] = 0;
  }
}

const Document* MergeReader::NextArrived() {
  std::optional<size_t> first;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!HasDocument(i)) continue;
    if (!first.has_value() || inputs_[i].documents[taken_[i]].order <
                                  inputs_[*first].documents[taken_[*first]].order) {
      first = i;
    }
  }
  return first.has_value() ? Take(*first) : nullptr;
}

}  // namespace evenpack
