#include "server/solver/exchange_descent.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace evenpack {
namespace {

constexpr size_t kMostTogether = 3;
// Of one bin's sets of documents; a search of larger sets is not started.
constexpr size_t kMostSets = 16384;
// Expected pairs of sets that fit; likewise.
constexpr double kMostFitting = 4e6;
// Two bins whose loads are this close are even.
constexpr int64_t kEvenShare = 32768;
// What an exchange must take off the heavier of two bins, as a share of their
// difference.
constexpr int64_t kLeastGain = 1024;

// Documents of one bin that go together. Unused places of `documents` are at its end.
struct DocumentSet {
  BinFill fill;
  std::array<uint32_t, kMostTogether> documents = {};
  size_t size = 0;
};

class Descent {
 public:
  Descent(const LoadProblem& problem, Assignment assignment,
          absl::FunctionRef<bool()> is_over)
      : problem_(problem),
        is_over_(is_over),
        assignment_(std::move(assignment)),
        fills_(FillsOf(problem, assignment_)),
        members_(problem.bins),
        changes_(problem.bins, 0) {
    for (uint32_t i = 0; i < assignment_.size(); ++i) {
      members_[assignment_[i]].push_back(i);
    }
  }

  DescentResult Run() {
    while (ImproveSome()) {
    }
    return {std::move(assignment_), was_cut_};
  }

 private:
  // Heaviest with lightest first. False where nothing more can be done, or in time.
  bool ImproveSome() {
    std::vector<uint32_t> heaviest_first(problem_.bins);
    std::iota(heaviest_first.begin(), heaviest_first.end(), 0U);
    std::stable_sort(heaviest_first.begin(), heaviest_first.end(),
                     [this](uint32_t a, uint32_t b) { return Load(a) > Load(b); });
    for (size_t i = 0; i + 1 < heaviest_first.size(); ++i) {
      for (size_t j = heaviest_first.size() - 1; j > i; --j) {
        if (IsOver()) return false;
        if (Improve(heaviest_first[i], heaviest_first[j])) return true;
      }
    }
    return false;
  }

  bool IsOver() {
    was_cut_ = was_cut_ || is_over_();
    return was_cut_;
  }

  bool Improve(uint32_t heavy, uint32_t light) {
    if (Load(heavy) - Load(light) <= Load(heavy) / kEvenShare) return false;
    std::pair<uint64_t, uint64_t>& tried = tried_[{heavy, light}];
    const std::pair<uint64_t, uint64_t> now = {changes_[heavy] + 1,
                                               changes_[light] + 1};
    if (tried == now) return false;
    tried = now;
    for (size_t together = 1; together <= kMostTogether; ++together) {
      const std::vector<DocumentSet> from = SetsOf(heavy, together);
      const std::vector<DocumentSet> to = SetsOf(light, together);
      if (!IsWorthwhile(heavy, light, from, to)) return false;
      if (ExchangeBest(heavy, light, from, to)) return true;
    }
    return false;
  }

  // All sets of up to `together` documents of a bin, the empty one too, by their
  // tokens. Empty where there are more than kMostSets.
  std::vector<DocumentSet> SetsOf(uint32_t bin, size_t together) const {
    const std::vector<uint32_t>& members = members_[bin];
    std::vector<DocumentSet> sets(1);
    std::vector<size_t> next = {0};
    for (size_t at = 0; at < sets.size(); ++at) {
      if (sets[at].size == together) continue;
      for (size_t m = next[at]; m < members.size(); ++m) {
        if (sets.size() == kMostSets) return {};
        DocumentSet larger = sets[at];
        larger.documents[larger.size++] = members[m];
        larger.fill.cost += problem_.costs[members[m]];
        larger.fill.tokens += problem_.lengths[members[m]];
        sets.push_back(larger);
        next.push_back(m + 1);
      }
    }
    std::stable_sort(sets.begin(), sets.end(),
                     [](const DocumentSet& a, const DocumentSet& b) {
                       return a.fill.tokens < b.fill.tokens;
                     });
    return sets;
  }

  // Whether a search of all pairs of such sets is affordable.
  bool IsWorthwhile(uint32_t heavy, uint32_t light,
                    const std::vector<DocumentSet>& from,
                    const std::vector<DocumentSet>& to) const {
    if (from.empty() || to.empty()) return false;
    const int64_t room =
        2 * problem_.capacity - fills_[heavy].tokens - fills_[light].tokens;
    const auto widest =
        static_cast<double>(std::max<int64_t>(to.back().fill.tokens, 1));
    const double share = std::min(1.0, static_cast<double>(room) / widest);
    return share * static_cast<double>(from.size()) * static_cast<double>(to.size()) <=
           kMostFitting;
  }

  bool ExchangeBest(uint32_t heavy, uint32_t light,
                    const std::vector<DocumentSet>& from,
                    const std::vector<DocumentSet>& to) {
    const int64_t difference = Load(heavy) - Load(light);
    int64_t best_load = Load(heavy) - std::max<int64_t>(difference / kLeastGain, 1);
    const DocumentSet* best_from = nullptr;
    const DocumentSet* best_to = nullptr;
    const int64_t room_heavy = problem_.capacity - fills_[heavy].tokens;
    const int64_t room_light = problem_.capacity - fills_[light].tokens;
    for (const DocumentSet& out : from) {
      // Of documents that are much alike far more pairs fit than are expected to.
      if (IsOver()) return false;
      const int64_t least = out.fill.tokens - room_light;
      const int64_t most = out.fill.tokens + room_heavy;
      for (auto in = std::lower_bound(to.begin(), to.end(), least, IsShorter);
           in != to.end() && in->fill.tokens <= most; ++in) {
        const int64_t load = HeavierAfter(heavy, light, out.fill, in->fill);
        if (load > best_load || (load == best_load && best_from != nullptr)) continue;
        best_load = load;
        best_from = &out;
        best_to = &*in;
      }
    }
    if (best_from == nullptr) return false;
    Move(*best_from, heavy, light);
    Move(*best_to, light, heavy);
    return true;
  }

  static bool IsShorter(const DocumentSet& set, int64_t tokens) {
    return set.fill.tokens < tokens;
  }

  int64_t HeavierAfter(uint32_t heavy, uint32_t light, const BinFill& out,
                       const BinFill& in) const {
    const BinFill& a = fills_[heavy];
    const BinFill& b = fills_[light];
    return std::max(LoadOf(problem_, {a.cost - out.cost + in.cost,
                                      a.tokens - out.tokens + in.tokens}),
                    LoadOf(problem_, {b.cost + out.cost - in.cost,
                                      b.tokens + out.tokens - in.tokens}));
  }

  void Move(const DocumentSet& set, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < set.size; ++i) {
      const uint32_t document = set.documents[i];
      assignment_[document] = to;
      members_[to].push_back(document);
      members_[from].erase(
          std::find(members_[from].begin(), members_[from].end(), document));
    }
    fills_[from].cost -= set.fill.cost;
    fills_[from].tokens -= set.fill.tokens;
    fills_[to].cost += set.fill.cost;
    fills_[to].tokens += set.fill.tokens;
    ++changes_[from];
    ++changes_[to];
  }

  int64_t Load(uint32_t bin) const { return LoadOf(problem_, fills_[bin]); }

  const LoadProblem& problem_;
  const absl::FunctionRef<bool()> is_over_;
  Assignment assignment_;
  bool was_cut_ = false;
  std::vector<BinFill> fills_;
  std::vector<std::vector<uint32_t>> members_;
  // Per bin, how often it changed; and when a pair was last searched, so that it is not
  // searched again as it is.
  std::vector<uint64_t> changes_;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> tried_;
};

}  // namespace

DescentResult DescendByExchanges(const LoadProblem& problem, Assignment start,
                                 absl::FunctionRef<bool()> is_over) {
  return Descent(problem, std::move(start), is_over).Run();
}

}  // namespace evenpack
