// Counts of observations by size, as Prometheus' histograms hold them.
#ifndef EVENPACK_SERVER_METRICS_HISTOGRAM_H_
#define EVENPACK_SERVER_METRICS_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace evenpack {

// A value type over constant, rising upper bounds; what exceeds the last is counted
// apart. Not thread-safe.
class Histogram {
 public:
  static constexpr size_t kMaxBounds = 24;

  // `bounds`: at most kMaxBounds, of static lifetime.
  explicit constexpr Histogram(std::span<const double> bounds) : bounds_(bounds) {}

  void Observe(double value, uint64_t times = 1) {
    const size_t bucket = static_cast<size_t>(
        std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
    counts_[bucket] += times;
    count_ += times;
    sum_ += value * static_cast<double>(times);
  }

  std::span<const double> bounds() const { return bounds_; }
  // Observations above bounds()[bucket - 1] and at most bounds()[bucket]; the bucket
  // bounds().size() has those above the last. Not cumulative.
  uint64_t count_in(size_t bucket) const { return counts_[bucket]; }
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<uint64_t, kMaxBounds + 1> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

// Upper bounds, in seconds: 10 us to 10 s.
inline constexpr double kLatencyBounds[] = {
    1e-5,   2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
    2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1,    2.5,  5,      10};
// Max over mean: 1 is perfect.
inline constexpr double kImbalanceBounds[] = {
    1.005, 1.01, 1.02, 1.03, 1.05, 1.075, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 3, 5};
// Tokens of a step over N x L.
inline constexpr double kStepFillBounds[] = {0.1,  0.25, 0.5,  0.75, 0.9, 0.95, 1,
                                             1.05, 1.1,  1.25, 1.5,  2,   3};
// Shares, 0 to 1.
inline constexpr double kShareBounds[] = {0,   0.05, 0.1, 0.15, 0.2, 0.3, 0.4,
                                          0.5, 0.6,  0.7, 0.8,  0.9, 1};
// Delays in global batches.
inline constexpr double kDelayBounds[] = {0,  1,  2,  3,  5,   8,  12,
                                          20, 32, 50, 80, 128, 256};
// Measured over predicted.
inline constexpr double kRatioBounds[] = {0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05,
                                          1.1, 1.2, 1.3, 1.5, 2,    3, 5};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_HISTOGRAM_H_
