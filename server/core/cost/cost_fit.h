// By how much a cost model is off, from measured micro-batches: the two scales under
// which W = attention_scale * W_a + linear_scale * W_l comes nearest to what most of
// them took.
//
//   CostFit fit;
//   fit.Add({attention_ns, linear_ns, measured_ns});
//   std::optional<CostEstimate> estimate = fit.Estimate(applied);
//   if (estimate) CostScales next = SuggestScales(*estimate, applied);
#ifndef EVENPACK_SERVER_CORE_COST_COST_FIT_H_
#define EVENPACK_SERVER_CORE_COST_COST_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/cost/cost_scales.h"

namespace evenpack {

// Of one micro-batch, forward: what the model without scales predicts, each part at
// least 0, and what was measured. Nanoseconds.
struct CostObservation {
  int64_t attention_ns = 0;
  int64_t linear_ns = 0;
  int64_t measured_ns = 0;
};

struct CostEstimate {
  // What the measurements say, clamped to the range of scales.
  CostScales scales;
  // The observations have enough different shares of attention, and agree enough, to
  // tell the two scales apart: twice the standard error of each is at most 5% of it.
  // Otherwise `scales` are the present ones, both times the same factor.
  bool separable = false;
  size_t observations = 0;
};

// An observation is a point: the share of attention in its prediction, s, and measured
// over predicted, r. The model is the line r(s) = linear + (attention - linear) * s, so
// that r(1) and r(0) are the scales. It is fitted in two moves: Siegel's repeated
// median of bins of equal count, which nothing moves far that is true of less than half
// of the points; then least squares of relative residuals over the points within four
// times the median residual. A third of the observations may be arbitrarily slow.
//
// The state is integers and a function of what was added, in order. Not thread-safe.
class CostFit {
 public:
  // The last ones count: 16 KiB.
  static constexpr size_t kMaxObservations = 1024;
  // Fewer say nothing.
  static constexpr size_t kLeastObservations = 32;

  // Passed over where nothing is predicted or measured.
  void Add(const CostObservation& observation);
  void Clear();

  size_t size() const { return points_.size(); }

  // None below kLeastObservations. `applied`: the present scales.
  std::optional<CostEstimate> Estimate(const CostScales& applied) const;

 private:
  struct Point {
    int64_t share_ppm = 0;
    int64_t ratio_ppm = 0;
  };

  // A ring: next_ is the oldest once it is full.
  std::vector<Point> points_;
  size_t next_ = 0;
};

// The step from `applied` to the estimate: each scale by at most kMostFactor, and not
// at all where it is within kDeadBand of it.
inline constexpr double kMostFactor = 1.25;
inline constexpr double kDeadBand = 0.03;
CostScales SuggestScales(const CostEstimate& estimate, const CostScales& applied);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_COST_FIT_H_
