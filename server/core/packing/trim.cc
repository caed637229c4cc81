#include "server/core/packing/trim.h"

#include <algorithm>
#include <numeric>

#include "absl/numeric/int128.h"
#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_contents.h"

namespace evenpack {
namespace {

constexpr int kRounds = 3;

class Trimmer {
 public:
  Trimmer(const WorkList& work_list, const TrimTerms& terms,
          const LeaningWorkload& workload, std::vector<uint32_t>& bins)
      : work_list_(work_list),
        terms_(terms),
        workload_(workload),
        bins_(bins),
        contents_(ContentsOf(work_list, bins, terms.micro_batches,
                             terms.capacity.padding, workload)),
        heaviest_first_(terms.micro_batches) {
    std::iota(heaviest_first_.begin(), heaviest_first_.end(), size_t{0});
  }

  // False where nothing pays.
  bool Round() {
    std::sort(heaviest_first_.begin(), heaviest_first_.end(),
              [this](size_t a, size_t b) {
                const int64_t first = contents_[a].load_ns;
                const int64_t second = contents_[b].load_ns;
                return first != second ? first > second : a < b;
              });
    const size_t count = BestCount();
    for (size_t k = 0; k < count; ++k) GiveUp(contents_[heaviest_first_[k]]);
    return count > 0;
  }

 private:
  const Document& LastOf(const BinContents& bin) const {
    return *work_list_[bin.documents.back()];
  }
  int64_t SizeOfLast(const BinContents& bin) const {
    return static_cast<int64_t>(
        PaddedLength(terms_.capacity.padding, LastOf(bin).length));
  }
  int64_t LoadWithoutLast(const BinContents& bin) const {
    return bin.attention_ns - workload_.AttentionNs(LastOf(bin).length) +
           workload_.LinearNs(static_cast<uint64_t>(bin.length - SizeOfLast(bin)));
  }
  // How many of the heaviest give up their last document.
  size_t BestCount() const {
    const int64_t top = contents_[heaviest_first_[0]].load_ns;
    int64_t tokens = 0;
    for (const BinContents& bin : contents_) tokens += bin.length;
    // What all micro-batches together no longer wait, and what is no longer computed:
    // only the rest of it is saved.
    int64_t after = 0;
    int64_t removed = 0;
    absl::int128 price = 0;
    absl::int128 best = 0;
    size_t count = 0;
    const auto bins = static_cast<int64_t>(contents_.size());
    for (size_t k = 0; k + 1 < contents_.size(); ++k) {
      const BinContents& bin = contents_[heaviest_first_[k]];
      if (bin.documents.size() < 2 || bin.documents.back() < terms_.kept) break;
      tokens -= SizeOfLast(bin);
      if (tokens < static_cast<int64_t>(terms_.least_tokens)) break;
      const int64_t left = LoadWithoutLast(bin);
      after = std::max(after, left);
      removed += bin.load_ns - left;
      price += terms_.price.Of(LastOf(bin));
      const int64_t next = contents_[heaviest_first_[k + 1]].load_ns;
      const absl::int128 saved =
          absl::int128(top - std::max(after, next)) * bins - removed - price;
      if (saved > best) {
        best = saved;
        count = k + 1;
      }
    }
    return count;
  }

  void GiveUp(BinContents& bin) {
    const int64_t load = LoadWithoutLast(bin);
    bins_[bin.documents.back()] = kLeftOver;
    bin.attention_ns -= workload_.AttentionNs(LastOf(bin).length);
    bin.length -= SizeOfLast(bin);
    bin.load_ns = load;
    bin.documents.pop_back();
  }

  const WorkList& work_list_;
  const TrimTerms& terms_;
  const LeaningWorkload workload_;
  std::vector<uint32_t>& bins_;
  std::vector<BinContents> contents_;
  std::vector<size_t> heaviest_first_;
};

}  // namespace

void Trim(const WorkList& work_list, const TrimTerms& terms,
          const LeaningWorkload& workload, std::vector<uint32_t>& bins) {
  Trimmer trimmer(work_list, terms, workload, bins);
  for (int round = 0; round < kRounds && trimmer.Round(); ++round) {
  }
}

}  // namespace evenpack
