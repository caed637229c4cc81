#include "server/core/sharding/mix_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "server/core/sharding/shard_plan.h"

namespace evenpack {
namespace {

using absl::uint128;

// Mixes that are worked out, at most.
constexpr int kMostMixes = 12;
// Up to so many numbers of cut documents are tried one by one, then in growing steps.
constexpr int kMixesInSteps = 6;
// A mix within this part of what any could reach is good enough.
constexpr int64_t kGoodEnough = 1024;

// Loads by rank, of which the least is asked for and raised: a binary heap.
class LeastLoads {
 public:
  explicit LeastLoads(uint32_t ranks) : heap_(ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) heap_[rank].rank = rank;
  }

  uint32_t least() const { return heap_.front().rank; }
  void RaiseLeast(int64_t by) {
    Entry raised = heap_.front();
    raised.load += by;
    size_t hole = 0;
    for (size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (raised < heap_[child]) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = raised;
  }

 private:
  struct Entry {
    int64_t load = 0;
    uint32_t rank = 0;

    bool operator<(const Entry& other) const {
      return load != other.load ? load < other.load : rank < other.rank;
    }
  };
  std::vector<Entry> heap_;
};

class MixSearch {
 public:
  MixSearch(std::span<const uint32_t> lengths, uint32_t context_parallel,
            const KernelLatencyTable& table, const HybridRule& rule)
      : ranks_(context_parallel), table_(table), rule_(rule) {
    SortLongestFirst(lengths);
    Measure();
  }

  bool IsSearchable() const {
    return !documents_.empty() && all_.tokens < kWholeShare &&
           attention_ps_ < uint128(1) << 61;
  }

  std::optional<Mix> Find() {
    // The least number of cut documents with which no whole one is longer than a step.
    size_t first = 0;
    while (first < documents_.size() && TimeOf(documents_[first]) > even_ps_) {
      cut_.tokens += documents_[first].length;
      cut_.attention_ps += documents_[first].attention_ps;
      ++first;
    }
    const DocumentLoad at_first = cut_;
    Ascend(first);
    cut_ = at_first;
    Descend(first);
    if (!best_.has_value()) return std::nullopt;
    return Inscribe();
  }

 private:
  struct Measured {
    uint32_t length = 0;
    uint32_t index = 0;
    int64_t attention_ps = 0;
  };
  // A mix of the documents in sorted order.
  struct Found {
    size_t cut = 0;
    std::vector<uint32_t> rank;
    std::vector<uint64_t> slot_starts;
    uint128 picoseconds = 0;
  };

  void SortLongestFirst(std::span<const uint32_t> lengths) {
    std::vector<uint64_t> keys(lengths.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = uint64_t{~lengths[i]} << 32 | i;
    }
    std::sort(keys.begin(), keys.end());
    documents_.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      documents_[i].length = ~static_cast<uint32_t>(keys[i] >> 32);
      documents_[i].index = static_cast<uint32_t>(keys[i]);
    }
  }

  void Measure() {
    for (Measured& document : documents_) {
      document.attention_ps = table_.SlicePs(document.length, document.length);
      all_.tokens += document.length;
      attention_ps_ += static_cast<uint64_t>(document.attention_ps);
    }
    if (!IsSearchable()) return;
    all_.attention_ps = static_cast<int64_t>(absl::Uint128Low64(attention_ps_));
    const auto tokens = static_cast<int64_t>(all_.tokens);
    even_ps_ = (all_.attention_ps + rule_.token_ps * tokens) / ranks_;
    // Tokens count in the placement as much as attention, since both are to be even.
    placed_token_ps_ = rule_.token_ps + all_.attention_ps / tokens;
  }

  int64_t TimeOf(const Measured& document) const {
    return document.attention_ps + rule_.token_ps * document.length;
  }
  int64_t ExchangeOf(uint64_t cut_tokens) const {
    return rule_.cut_token_ps * static_cast<int64_t>(cut_tokens);
  }
  bool IsBeaten(int64_t picoseconds) const {
    return best_.has_value() &&
           best_->picoseconds <= static_cast<uint64_t>(picoseconds);
  }

  // More and more cut documents, until what they add to the exchanges is all that
  // changes.
  void Ascend(size_t cut) {
    size_t next = cut;
    for (size_t k = cut; k <= documents_.size(); ++k) {
      const int64_t reachable = even_ps_ + ExchangeOf(cut_.tokens);
      if (IsBeaten(reachable + reachable / kGoodEnough)) return;
      if (k == next) {
        if (tried_ == kMostMixes) return;
        Try(k);
        next += tried_ < kMixesInSteps ? 1 : 1 + k / 2;
      }
      if (k == documents_.size()) return;
      cut_.tokens += documents_[k].length;
      cut_.attention_ps += documents_[k].attention_ps;
    }
  }

  // Fewer, though a whole document then takes longer than an even share.
  void Descend(size_t cut) {
    for (size_t k = cut; k-- > 0;) {
      cut_.tokens -= documents_[k].length;
      cut_.attention_ps -= documents_[k].attention_ps;
      const int64_t reachable = TimeOf(documents_[k]) + ExchangeOf(cut_.tokens);
      if (IsBeaten(reachable) || tried_ == kMostMixes) continue;
      Try(k);
    }
  }

  // Cuts the first `cut` documents, which cut_ is of.
  void Try(size_t cut) {
    ++tried_;
    found_.cut = cut;
    found_.slot_starts.assign(2 * size_t{ranks_} + 1, kWholeShare);
    found_.slot_starts[0] = 0;
    std::vector<DocumentLoad> loads = PlaceWhole();
    if (cut > 0) {
      LevelledCut level = LevelCut(loads, cut_);
      for (size_t i = cut; i < documents_.size(); ++i) {
        found_.rank[i] = level.rank_of_load[found_.rank[i]];
      }
      std::vector<DocumentLoad> moved(loads.size());
      for (size_t i = 0; i < loads.size(); ++i) moved[level.rank_of_load[i]] = loads[i];
      loads = std::move(moved);
      found_.slot_starts = std::move(level.slot_starts);
    }
    if (!Time(loads)) return;
    if (!best_.has_value() || found_.picoseconds < best_->picoseconds) best_ = found_;
  }

  std::vector<DocumentLoad> PlaceWhole() {
    std::vector<DocumentLoad> loads(ranks_);
    LeastLoads least(ranks_);
    found_.rank.resize(documents_.size());
    for (size_t i = found_.cut; i < documents_.size(); ++i) {
      const Measured& document = documents_[i];
      const uint32_t rank = least.least();
      found_.rank[i] = rank;
      loads[rank].tokens += document.length;
      loads[rank].attention_ps += document.attention_ps;
      least.RaiseLeast(document.attention_ps + placed_token_ps_ * document.length);
    }
    return loads;
  }

  // Fills in the time; false where tokens are beyond the tolerance.
  bool Time(const std::vector<DocumentLoad>& loads) {
    uint128 slowest = 0;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      uint64_t tokens = loads[rank].tokens;
      uint128 picoseconds = static_cast<uint64_t>(loads[rank].attention_ps);
      for (const uint32_t slot : {rank, 2 * ranks_ - 1 - rank}) {
        const uint64_t first = found_.slot_starts[slot];
        const uint64_t next = found_.slot_starts[slot + 1];
        for (size_t i = 0; i < found_.cut; ++i) {
          const uint64_t length = documents_[i].length;
          const auto begin = static_cast<uint32_t>(length * first >> 32);
          const auto end = static_cast<uint32_t>(length * next >> 32);
          if (begin == end) continue;
          tokens += end - begin;
          picoseconds += static_cast<uint64_t>(table_.SlicePs(end - begin, end));
        }
      }
      if (!IsNearMean(tokens, all_.tokens, ranks_, rule_)) return false;
      picoseconds += static_cast<uint64_t>(rule_.token_ps) * uint128(tokens);
      slowest = std::max(slowest, picoseconds);
    }
    found_.picoseconds = slowest + static_cast<uint64_t>(ExchangeOf(cut_.tokens));
    return true;
  }

  Mix Inscribe() {
    Mix mix;
    mix.owner.assign(documents_.size(), kCutDocument);
    for (size_t i = best_->cut; i < documents_.size(); ++i) {
      mix.owner[documents_[i].index] = static_cast<uint16_t>(best_->rank[i]);
    }
    mix.slot_starts = std::move(best_->slot_starts);
    mix.picoseconds = best_->picoseconds;
    return mix;
  }

  const uint32_t ranks_;
  const KernelLatencyTable& table_;
  const HybridRule& rule_;
  // Longest first, equal ones in the order given.
  std::vector<Measured> documents_;
  uint128 attention_ps_ = 0;
  DocumentLoad all_;
  // What a rank takes where all is even and no key travels.
  int64_t even_ps_ = 0;
  int64_t placed_token_ps_ = 0;
  // Of the longest documents that are cut at the moment.
  DocumentLoad cut_;
  int tried_ = 0;
  Found found_;
  std::optional<Found> best_;
};

}  // namespace

std::optional<Mix> FindMix(std::span<const uint32_t> lengths, uint32_t context_parallel,
                           const KernelLatencyTable& table, const HybridRule& rule) {
  MixSearch search(lengths, context_parallel, table, rule);
  if (!search.IsSearchable()) return std::nullopt;
  return search.Find();
}

}  // namespace evenpack
