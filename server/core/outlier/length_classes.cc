#include "server/core/outlier/length_classes.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"

namespace evenpack {
namespace {

// Fixed-point numbers: documents of a batch, in 2^-16.
constexpr int kOneBits = 16;
constexpr int64_t kOne = int64_t{1} << kOneBits;
constexpr int64_t kPsPerNs = 1000;
constexpr int64_t kPpm = 1000000;

// A bucket that has documents.
struct Bucket {
  uint32_t least = 0;
  uint32_t middle = 0;
  // Of one document, in nanoseconds.
  int64_t workload_ns = 0;
  // Documents of a global batch, times kOne.
  absl::int128 rate = 0;
};

int64_t WorkloadOf(uint32_t length, const WorkloadTable& workload) {
  const uint32_t known = std::min(length, workload.max_tokens());
  return workload.AttentionNs(known) + workload.LinearNs(known);
}

std::vector<Bucket> BucketsOf(const LengthSketch& sketch, const ClassTerms& terms,
                              const WorkloadTable& workload) {
  const std::vector<absl::uint128> rates = sketch.RatesPerToken();
  const absl::uint128 batch = absl::uint128(terms.micro_batches) * terms.window;
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (sketch.weights()[i] == 0) continue;
    const uint32_t middle = LengthSketch::MiddleOf(i);
    buckets.push_back(
        {LengthSketch::LeastOf(i), middle, WorkloadOf(middle, workload),
         absl::int128((rates[i] * batch) >> (LengthSketch::kRateBits - kOneBits))});
  }
  return buckets;
}

// Dynamic programming over the buckets, from the longest down.
class ClassChoice {
 public:
  ClassChoice(std::vector<Bucket> buckets, const ClassTerms& terms, int64_t token_ps)
      : buckets_(std::move(buckets)),
        terms_(terms),
        token_ps_(token_ps),
        micro_batches_(static_cast<int64_t>(terms.micro_batches)),
        sums_(buckets_.size() + 1) {
    for (size_t i = 0; i < buckets_.size(); ++i) {
      const Bucket& bucket = buckets_[i];
      sums_[i + 1].rate = sums_[i].rate + bucket.rate;
      sums_[i + 1].workload =
          sums_[i].workload + bucket.rate * bucket.workload_ns / kOne;
      sums_[i + 1].tokens = sums_[i].tokens + bucket.rate * bucket.middle / kOne;
    }
  }

  std::vector<uint32_t> Best() const {
    absl::int128 least = CostAtOnce(buckets_.size());
    std::vector<uint32_t> best;
    for (size_t first = buckets_.size(); first-- > 0;) {
      // A document that is no heavier than a mean micro-batch keeps none waiting.
      if (absl::int128(buckets_[first].workload_ns) * kPsPerNs < MicroBatchPs() / 2)
        break;
      std::vector<uint32_t> thresholds;
      const absl::int128 cost = CostAtOnce(first) + Divide(first, thresholds);
      if (cost < least) {
        least = cost;
        best = std::move(thresholds);
      }
    }
    return best;
  }

 private:
  absl::int128 MicroBatchPs() const { return absl::int128(token_ps_) * terms_.window; }

  // What micro-batches wait in a batch of which the documents below bucket `end` go at
  // once. That no document of a bucket comes has the probability 1 / (1 + rate), taking
  // the gaps between arrivals for geometric.
  absl::int128 CostAtOnce(size_t end) const {
    absl::int128 cost = 0;
    int64_t none_longer = kOne;
    for (size_t i = end; i-- > 0 && none_longer > 0;) {
      const absl::int128 over = buckets_[i].workload_ns - MicroBatchPs() / kPsPerNs;
      if (over <= 0) break;
      const auto none_of_it = static_cast<int64_t>(absl::int128(none_longer) * kOne /
                                                   (kOne + buckets_[i].rate));
      cost += over * micro_batches_ * (none_longer - none_of_it) / kOne;
      none_longer = none_of_it;
    }
    return cost;
  }

  // Of one class, buckets [begin, end), where those below `first` go at once.
  absl::int128 CostOfClass(size_t first, size_t begin, size_t end) const {
    const absl::int128 rate = sums_[end].rate - sums_[begin].rate;
    if (rate == 0) return 0;
    // Of N documents that go together.
    const absl::int128 together =
        (sums_[end].workload - sums_[begin].workload) * kOne / rate * micro_batches_;
    const absl::int128 waits =
        absl::int128(buckets_[end - 1].workload_ns) * micro_batches_ - together -
        sums_[first].workload;
    const absl::int128 excess =
        std::max<absl::int128>(waits, 0) * rate / (absl::int128(micro_batches_) * kOne);
    const absl::int128 delayed = (sums_[end].tokens - sums_[begin].tokens) * kOne /
                                 rate * (micro_batches_ - 1) / 2;
    return excess + delayed * token_ps_ / kPsPerNs * terms_.delay_price_ppm / kPpm;
  }

  // The cheapest division of the buckets from `first` on, whose thresholds it gives.
  absl::int128 Divide(size_t first, std::vector<uint32_t>& thresholds) const {
    const size_t count = buckets_.size();
    // Of the buckets from i on, and where the first class of these ends.
    std::vector<absl::int128> cost(count + 1, 0);
    std::vector<size_t> next(count + 1, count);
    for (size_t i = count; i-- > first;) {
      cost[i] = absl::Int128Max();
      for (size_t end = i + 1; end <= count; ++end) {
        const absl::int128 whole = CostOfClass(first, i, end) + cost[end];
        if (whole < cost[i]) {
          cost[i] = whole;
          next[i] = end;
        }
      }
    }
    for (size_t i = first; i < count; i = next[i]) {
      thresholds.push_back(buckets_[i].least);
    }
    return cost[first];
  }

  // Of a batch, of the buckets below one.
  struct Sums {
    absl::int128 rate = 0;
    absl::int128 workload = 0;
    absl::int128 tokens = 0;
  };

  const std::vector<Bucket> buckets_;
  const ClassTerms& terms_;
  const int64_t token_ps_;
  const int64_t micro_batches_;
  std::vector<Sums> sums_;
};

}  // namespace

int64_t TokenPs(const LengthSketch& sketch, const WorkloadTable& workload) {
  if (sketch.empty()) return 1;
  const std::vector<absl::uint128> rates = sketch.RatesPerToken();
  // Ten bits are left for the sum: with all of them it would not fit.
  constexpr int kSumBits = 10;
  absl::uint128 ps = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    const auto workload_ns =
        static_cast<uint64_t>(WorkloadOf(LengthSketch::MiddleOf(i), workload));
    ps += ((rates[i] * workload_ns) >> (LengthSketch::kRateBits - kSumBits)) * kPsPerNs;
  }
  const absl::uint128 most = uint64_t{1} << 53;
  return std::max<int64_t>(static_cast<int64_t>(std::min(ps >> kSumBits, most)), 1);
}

std::vector<uint32_t> ChooseClasses(const LengthSketch& sketch, const ClassTerms& terms,
                                    const WorkloadTable& workload) {
  if (sketch.empty()) return {};
  return ClassChoice(BucketsOf(sketch, terms, workload), terms,
                     TokenPs(sketch, workload))
      .Best();
}

}  // namespace evenpack
