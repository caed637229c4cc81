#include "server/core/packing/release_by_workload.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "server/core/packing/bin_tree.h"
#include "server/core/packing/last_steps.h"

namespace evenpack {
namespace {

// Levels lie a twelfth apart, then closer around the best one.
constexpr int64_t kCoarse = 12;
constexpr int64_t kFinest = 16 * kCoarse;
constexpr int64_t kMostNs = std::numeric_limits<int64_t>::max();
// Of what is due.
constexpr int64_t kAnyLevel = kMostNs;
// A step is far below it, and a little more is still a number.
constexpr int64_t kHighestLevel = kMostNs / 2;

// Of all that waits there may be more than any step can be.
int64_t LevelOf(absl::int128 ns) {
  return static_cast<int64_t>(std::min<absl::int128>(ns, kHighestLevel));
}

// The micro-batches of a step while a level is tried.
struct Bins {
  explicit Bins(size_t count)
      : tree(count), attention(count, 0), lengths(count, 0), documents(count, 0) {}

  BinTree tree;
  std::vector<int64_t> attention;
  std::vector<int64_t> lengths;
  std::vector<uint32_t> documents;
  int64_t tokens = 0;
  // Of these, what most_tokens is for.
  int64_t counted = 0;
  // Of long documents among them.
  uint64_t long_tokens = 0;
};

// What a level comes to. A step that is short of tokens is worse than any that is not.
struct Outcome {
  uint64_t shortfall = std::numeric_limits<uint64_t>::max();
  absl::int128 cost = 0;

  friend bool operator<(const Outcome& a, const Outcome& b) {
    return std::tie(a.shortfall, a.cost) < std::tie(b.shortfall, b.cost);
  }
};

// What a level lets go.
struct Trial {
  Outcome outcome;
  // By place in the list of documents that are placed one by one.
  std::vector<bool> goes;
  int64_t rest_tokens = 0;
  uint64_t tokens = 0;
  int64_t workload_ns = 0;
  int64_t excess_ns = 0;
  int64_t dearer_excess_ns = 0;
};

// One step's levels. The documents below those that are placed one by one are "the
// rest": so many tokens, of so much workload each.
class LevelSearch {
 public:
  LevelSearch(const WorkList& due, const WorkList& others, const ReleaseTerms& terms,
              const LeaningWorkload& workload)
      : others_(others),
        terms_(terms),
        workload_(workload),
        placed_(std::min(terms.placed_one_by_one, others.size())),
        start_(terms.micro_batches),
        bins_(start_) {
    const auto rate = absl::int128(workload.LinearNs(workload.max_tokens())) /
                      std::max<uint32_t>(workload.max_tokens(), 1);
    rest_rate_ = std::max<int64_t>(static_cast<int64_t>(rate), 1);
    MeasureDocuments();
    MeasureRest();
    PlaceDue(due);
  }

  Release Search() {
    int64_t highest = 0;
    if (placed_ > 0) highest = attention_[0] + LinearOf(*others_[0]);
    const auto bins = static_cast<int64_t>(terms_.micro_batches);
    const absl::int128 rest = RestNs(rest_tokens_);
    const absl::int128 total = total_ns_ + rest;
    highest = std::max(highest, LevelOf(total / bins));
    highest += highest / 4 + 1;
    const int64_t lowest =
        LevelOf(std::max(rest / bins, total / bins / 8) * (kCoarse - 1) / kCoarse);
    // At the end all may go at once, however uneven.
    if (terms_.nothing_follows) Try(LevelOf(total));
    int64_t best = highest;
    for (int64_t level = highest; level >= lowest && level > 0;
         level -= std::max<int64_t>(level / kCoarse, 1)) {
      if (Try(level)) best = level;
    }
    for (int64_t part = 2 * kCoarse; part <= kFinest; part *= 2) {
      const int64_t center = best;
      for (const int64_t level : {center + center / part, center - center / part}) {
        if (Try(level)) best = level;
      }
    }
    return Chosen();
  }

 private:
  void MeasureDocuments() {
    for (size_t i = 0; i < placed_; ++i) {
      const Document& document = *others_[i];
      attention_.push_back(workload_.AttentionNs(document.length));
      prices_.push_back(terms_.price.Of(document));
      total_ns_ += attention_.back() + LinearOf(document);
    }
  }

  void MeasureRest() {
    absl::int128 attention = 0;
    for (size_t i = placed_; i < others_.size(); ++i) {
      rest_tokens_ += Size(*others_[i]);
      if (!IsCounted(*others_[i])) uncounted_rest_tokens_ += Size(*others_[i]);
      attention += workload_.AttentionNs(others_[i]->length);
    }
    if (rest_tokens_ == 0) return;
    rest_documents_ = static_cast<int64_t>(others_.size() - placed_);
    rest_attention_rate_ = static_cast<int64_t>(attention / rest_tokens_);
    rest_rate_ += rest_attention_rate_;
  }

  void PlaceDue(const WorkList& due) {
    for (const Document* document : due) {
      const int64_t attention = workload_.AttentionNs(document->length);
      if (Place(*document, attention, kAnyLevel, start_)) {
        total_ns_ += attention + LinearOf(*document);
      }
    }
  }

  absl::int128 RestNs(int64_t tokens) const {
    return absl::int128(tokens) * rest_rate_;
  }

  bool IsCounted(const Document& document) const {
    return document.batch >= terms_.counted_from;
  }

  int64_t Size(const Document& document) const {
    return static_cast<int64_t>(PaddedLength(terms_.capacity.padding, document.length));
  }

  // Of its padding too.
  int64_t LinearOf(const Document& document) const {
    return workload_.LinearNs(static_cast<uint64_t>(Size(document)));
  }

  // In the lightest micro-batch that has room, unless that would lift it above `level`.
  bool Place(const Document& document, int64_t attention, int64_t level,
             Bins& bins) const {
    const int64_t size = Size(document);
    const int64_t room = int64_t{terms_.capacity.tokens} - size;
    const int64_t counted = IsCounted(document) ? size : 0;
    if (room < 0 || (counted > 0 &&
                     bins.counted + size > static_cast<int64_t>(terms_.most_tokens))) {
      return false;
    }
    const bool is_long = document.length >= terms_.long_from;
    if (is_long && level != kAnyLevel &&
        bins.long_tokens + document.length > terms_.most_long_tokens) {
      return false;
    }
    const uint32_t bin = bins.tree.LeastWithin(room);
    if (bin == kLeftOver) return false;
    const int64_t length = bins.lengths[bin] + size;
    const int64_t after = bins.attention[bin] + attention +
                          workload_.LinearNs(static_cast<uint64_t>(length));
    if (after > level) return false;
    bins.attention[bin] += attention;
    bins.lengths[bin] = length;
    bins.tokens += size;
    bins.counted += counted;
    if (is_long) bins.long_tokens += document.length;
    if (++bins.documents[bin] == terms_.capacity.documents) {
      bins.tree.Close(bin);
    } else {
      bins.tree.Set(bin, after, length);
    }
    return true;
  }

  // Tries the level with as much of the rest as there is room for, and where that may
  // pass the level also with no more than stays below it. True where one is the best so
  // far.
  bool Try(int64_t level) {
    ++levels_;
    bins_ = start_;
    trial_.goes.assign(placed_, false);
    absl::int128 held = 0;
    for (size_t i = 0; i < placed_; ++i) {
      if (Place(*others_[i], attention_[i], level, bins_)) {
        trial_.goes[i] = true;
      } else {
        held += prices_[i];
      }
    }
    MeasureBins();
    const int64_t room = RoomForRest(kAnyLevel);
    bool better = Finish(room, held);
    const int64_t below = RoomForRest(level);
    if (below < room) better = Finish(below, held) || better;
    return better;
  }

  void MeasureBins() {
    loads_.clear();
    for (size_t b = 0; b < terms_.micro_batches; ++b) {
      loads_.push_back(bins_.attention[b] +
                       workload_.LinearNs(static_cast<uint64_t>(bins_.lengths[b])));
    }
  }

  // What a micro-batch takes of the rest until it reaches `level`, as far as it has
  // room.
  int64_t Share(size_t bin, int64_t level) const {
    if (level <= loads_[bin]) return 0;
    return std::min(int64_t{terms_.capacity.tokens} - bins_.lengths[bin],
                    (level - loads_[bin]) / rest_rate_);
  }
  int64_t Shares(int64_t level) const {
    int64_t tokens = 0;
    for (size_t b = 0; b < loads_.size(); ++b) tokens += Share(b, level);
    return tokens;
  }

  int64_t RoomForRest(int64_t level) const {
    int64_t tokens = std::min(rest_tokens_, static_cast<int64_t>(terms_.most_tokens) -
                                                bins_.counted + uncounted_rest_tokens_);
    if (terms_.capacity.documents != std::numeric_limits<uint32_t>::max()) {
      int64_t documents = 0;
      for (const uint32_t count : bins_.documents) {
        documents += terms_.capacity.documents - count;
      }
      // The rest is short: so many documents of its mean length.
      if (documents < rest_documents_) {
        tokens = std::min(tokens, rest_tokens_ / rest_documents_ * documents);
      }
    }
    return std::max<int64_t>(std::min(tokens, Shares(level)), 0);
  }

  // The level to which so many tokens of the rest fill what is lowest, to within a
  // 4,096th.
  int64_t WaterLevel(int64_t tokens) const {
    const int64_t top = *std::max_element(loads_.begin(), loads_.end());
    int64_t low = *std::min_element(loads_.begin(), loads_.end());
    int64_t high = top + int64_t{terms_.capacity.tokens} * rest_rate_ + rest_rate_;
    while (high - low > std::max<int64_t>(high >> 12, rest_rate_)) {
      const int64_t middle = low + (high - low) / 2;
      (Shares(middle) >= tokens ? high : low) = middle;
    }
    return high;
  }

  bool Finish(int64_t rest, absl::int128 held) {
    const int64_t water = rest > 0 ? WaterLevel(rest) : 0;
    const auto bins = static_cast<int64_t>(loads_.size());
    // Attention as it is known, and with the error to both sides.
    int64_t total = 0;
    int64_t attention = 0;
    std::array<int64_t, 3> tops{};
    const auto error = static_cast<int64_t>(terms_.attention_error_64ths);
    for (size_t b = 0; b < loads_.size(); ++b) {
      const int64_t share = Share(b, water);
      const int64_t load = loads_[b] + share * rest_rate_;
      const int64_t wrong =
          (bins_.attention[b] + share * rest_attention_rate_) / 64 * error;
      total += load;
      attention += wrong;
      tops[0] = std::max(tops[0], load);
      tops[1] = std::max(tops[1], load + wrong);
      tops[2] = std::max(tops[2], load - wrong);
    }
    const int64_t excess = bins * tops[0] - total;
    const absl::int128 dearer = absl::int128(bins) * tops[1] - total - attention;
    const absl::int128 cheaper = absl::int128(bins) * tops[2] - total + attention;
    absl::int128 cost = (2 * absl::int128(excess) + dearer + cheaper) / 4;
    cost += held + terms_.price.OfTokens(rest_tokens_ - rest);
    const auto tokens = static_cast<uint64_t>(bins_.tokens + rest);
    const uint64_t least = terms_.least_tokens;
    Outcome outcome = {tokens < least ? least - tokens : 0, cost};
    // Costs more than to weigh a level, so only where the level may be the best.
    if (terms_.nothing_follows && outcome < best_.outcome) {
      outcome.cost += ExcessOfWhatIsLeft(rest_tokens_ - rest);
    }
    if (!(outcome < best_.outcome)) return false;
    best_ = {outcome,
             trial_.goes,
             rest,
             tokens,
             total,
             excess,
             static_cast<int64_t>(std::min<absl::int128>(dearer, kMostNs))};
    return true;
  }

  absl::int128 ExcessOfWhatIsLeft(int64_t rest) {
    left_.clear();
    for (size_t i = 0; i < placed_; ++i) {
      if (!trial_.goes[i]) left_.push_back(others_[i]);
    }
    const auto work_ns =
        static_cast<int64_t>(std::min<absl::int128>(RestNs(rest), kMostNs));
    return ExcessOfLastSteps(left_, {rest, work_ns}, terms_, workload_);
  }

  Release Chosen() const {
    Release release;
    release.tokens = best_.tokens;
    release.workload_ns = best_.workload_ns;
    release.excess_ns = best_.excess_ns;
    release.dearer_excess_ns = best_.dearer_excess_ns;
    release.levels = levels_;
    for (size_t i = 0; i < placed_; ++i) {
      (best_.goes[i] ? release.goes : release.held).push_back(others_[i]);
    }
    if (best_.rest_tokens == rest_tokens_) {
      release.goes.insert(release.goes.end(),
                          others_.begin() + static_cast<ptrdiff_t>(placed_),
                          others_.end());
    } else {
      TakeOldest(release);
    }
    return release;
  }

  // Of the rest, the oldest documents up to what the level takes.
  void TakeOldest(Release& release) const {
    WorkList rest(others_.begin() + static_cast<ptrdiff_t>(placed_), others_.end());
    SortOldestFirst(rest);
    int64_t tokens = 0;
    for (const Document* document : rest) {
      const bool goes = tokens < best_.rest_tokens;
      (goes ? release.goes : release.held).push_back(document);
      if (goes) tokens += Size(*document);
    }
    SortLongestFirst(release.goes);
  }

  const WorkList& others_;
  const ReleaseTerms& terms_;
  const LeaningWorkload workload_;
  const size_t placed_;
  // Of each document that is placed one by one.
  std::vector<int64_t> attention_;
  std::vector<absl::int128> prices_;
  // Of these and of what is due.
  absl::int128 total_ns_ = 0;
  // The rest; nanoseconds of a token, attention included and alone.
  int64_t rest_tokens_ = 0;
  int64_t uncounted_rest_tokens_ = 0;
  int64_t rest_documents_ = 0;
  int64_t rest_rate_ = 1;
  int64_t rest_attention_rate_ = 0;
  // With what is due, and as a level fills it.
  Bins start_;
  Bins bins_;
  std::vector<int64_t> loads_;
  WorkList left_;
  Trial trial_;
  Trial best_;
  uint64_t levels_ = 0;
};

}  // namespace

Release ReleaseByWorkload(const WorkList& due, const WorkList& others,
                          const ReleaseTerms& terms, const LeaningWorkload& workload) {
  return LevelSearch(due, others, terms, workload).Search();
}

}  // namespace evenpack
