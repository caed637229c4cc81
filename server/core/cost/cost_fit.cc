#include "server/core/cost/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace evenpack {
namespace {

constexpr double kPpm = 1e6;
// A ratio beyond is as good as this one.
constexpr double kMostRatio = 1e4;
// Bins of a few points each: their medians are what the repeated median is taken of.
constexpr size_t kMostBins = 16;
constexpr size_t kLeastPerBin = 4;
// Shares closer than this have no slope between them.
constexpr double kLeastGap = 1e-3;
// Least squares repeated with the points near the last line.
constexpr int kRefinements = 4;
constexpr double kNear = 4;
constexpr double kLeastNear = 0.01;
// What the two scales are told apart by.
constexpr double kLeastSpread = 0.05;
constexpr double kMostError = 0.05;

struct SharePoint {
  double share;
  double ratio;
};

// ratio = linear + slope * share.
struct ScaleLine {
  double linear = 1;
  double slope = 0;

  double At(double share) const { return linear + slope * share; }
  // Where the line is no positive number, what is measured is far from it.
  double ResidualOf(const SharePoint& point) const {
    const double expected = At(point.share);
    if (!(expected > 0)) return kMostRatio;
    return std::abs(point.ratio - expected) / expected;
  }
};

// The lower one of two in the middle: those that are off are slow. 0 of none.
double LowerMedian(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double MedianRatio(std::span<const SharePoint> points) {
  std::vector<double> ratios;
  ratios.reserve(points.size());
  for (const SharePoint& point : points) ratios.push_back(point.ratio);
  return LowerMedian(std::move(ratios));
}

// Medians of bins of equal count. `points` rise by share.
std::vector<SharePoint> BinMedians(std::span<const SharePoint> points) {
  const size_t bins = std::clamp<size_t>(points.size() / kLeastPerBin, 1, kMostBins);
  std::vector<SharePoint> medians;
  for (size_t i = 0; i < bins; ++i) {
    const size_t begin = points.size() * i / bins;
    const size_t end = points.size() * (i + 1) / bins;
    const std::span<const SharePoint> bin = points.subspan(begin, end - begin);
    medians.push_back({bin[bin.size() / 2].share, MedianRatio(bin)});
  }
  return medians;
}

// Siegel's repeated median: of each point the median slope to the others, and the
// median of these.
ScaleLine RepeatedMedian(std::span<const SharePoint> points) {
  std::vector<double> slopes;
  for (const SharePoint& from : points) {
    std::vector<double> of_point;
    for (const SharePoint& to : points) {
      const double gap = to.share - from.share;
      if (std::abs(gap) < kLeastGap) continue;
      of_point.push_back((to.ratio - from.ratio) / gap);
    }
    if (!of_point.empty()) slopes.push_back(LowerMedian(std::move(of_point)));
  }
  ScaleLine line;
  line.slope = LowerMedian(std::move(slopes));
  std::vector<double> intercepts;
  for (const SharePoint& point : points) {
    intercepts.push_back(point.ratio - line.slope * point.share);
  }
  line.linear = LowerMedian(std::move(intercepts));
  return line;
}

// Sums of weighted points, as least squares needs them.
struct WeightedSums {
  size_t count = 0;
  double weight = 0;
  double share = 0;
  double ratio = 0;
  // About the means.
  double share_share = 0;
  double share_ratio = 0;
};

std::vector<SharePoint> Near(std::span<const SharePoint> points,
                             const ScaleLine& line) {
  std::vector<double> residuals;
  residuals.reserve(points.size());
  for (const SharePoint& point : points) residuals.push_back(line.ResidualOf(point));
  const double most = std::max(kLeastNear, kNear * LowerMedian(std::move(residuals)));
  std::vector<SharePoint> near;
  for (const SharePoint& point : points) {
    if (line.ResidualOf(point) <= most) near.push_back(point);
  }
  return near;
}

// Weighted so that residuals count relative to `line`.
WeightedSums Sum(std::span<const SharePoint> points, const ScaleLine& line) {
  const auto weight_of = [&line](const SharePoint& point) {
    const double expected = std::max(line.At(point.share), 1 / kMostRatio);
    return 1 / (expected * expected);
  };
  WeightedSums sums;
  sums.count = points.size();
  for (const SharePoint& point : points) {
    const double weight = weight_of(point);
    sums.weight += weight;
    sums.share += weight * point.share;
    sums.ratio += weight * point.ratio;
  }
  if (sums.count == 0) return sums;
  sums.share /= sums.weight;
  sums.ratio /= sums.weight;
  for (const SharePoint& point : points) {
    const double off = weight_of(point) * (point.share - sums.share);
    sums.share_share += off * (point.share - sums.share);
    sums.share_ratio += off * (point.ratio - sums.ratio);
  }
  return sums;
}

// Least squares over the points near the line, repeated. `sloped`: else it stays flat.
ScaleLine Refine(std::span<const SharePoint> points, ScaleLine line, bool sloped) {
  for (int i = 0; i < kRefinements; ++i) {
    const WeightedSums sums = Sum(Near(points, line), line);
    if (sums.count < points.size() / 2) return line;
    line.slope =
        sloped && sums.share_share > 0 ? sums.share_ratio / sums.share_share : 0;
    line.linear = sums.ratio - line.slope * sums.share;
  }
  return line;
}

// Twice the standard error of the line there, over its value, is small.
bool IsSure(const ScaleLine& line, const WeightedSums& sums, double variance,
            double share) {
  const double value = line.At(share);
  const double off = share - sums.share;
  const double error =
      std::sqrt(variance * (1 / sums.weight + off * off / sums.share_share));
  return value > 0 && 2 * error <= kMostError * value;
}

// `points` rise by share.
bool IsSeparable(std::span<const SharePoint> points, const ScaleLine& line) {
  const size_t tenth = points.size() / 10;
  if (points[points.size() - 1 - tenth].share - points[tenth].share < kLeastSpread) {
    return false;
  }
  const std::vector<SharePoint> near = Near(points, line);
  const WeightedSums sums = Sum(near, line);
  if (sums.count < CostFit::kLeastObservations / 2 || !(sums.share_share > 0)) {
    return false;
  }
  double squares = 0;
  for (const SharePoint& point : near) {
    squares += line.ResidualOf(point) * line.ResidualOf(point);
  }
  const double variance = squares / static_cast<double>(sums.count - 2);
  return IsSure(line, sums, variance, 1) && IsSure(line, sums, variance, 0);
}

int64_t ClampedPpm(double ppm) {
  const double clamped = std::clamp(ppm, static_cast<double>(CostScales::kLeast),
                                    static_cast<double>(CostScales::kMost));
  return static_cast<int64_t>(std::llround(clamped));
}

// The same points over what the present scales predict.
std::vector<SharePoint> RelativeTo(const CostScales& applied,
                                   std::span<const SharePoint> points) {
  const double attention = static_cast<double>(applied.attention_ppm) / kPpm;
  const double linear = static_cast<double>(applied.linear_ppm) / kPpm;
  std::vector<SharePoint> relative;
  for (const SharePoint& point : points) {
    const double predicted = attention * point.share + linear * (1 - point.share);
    relative.push_back({point.share, point.ratio / predicted});
  }
  return relative;
}

int64_t Stepped(int64_t target, int64_t applied) {
  const double factor = static_cast<double>(target) / static_cast<double>(applied);
  if (std::abs(factor - 1) <= kDeadBand) return applied;
  return ClampedPpm(static_cast<double>(applied) *
                    std::clamp(factor, 1 / kMostFactor, kMostFactor));
}

}  // namespace

void CostFit::Add(const CostObservation& observation) {
  // Doubles, since the sum of two int64_t may be none.
  const auto attention = static_cast<double>(observation.attention_ns);
  const double predicted = attention + static_cast<double>(observation.linear_ns);
  const auto measured = static_cast<double>(observation.measured_ns);
  if (!(predicted > 0) || !(measured > 0)) return;
  const double ratio = std::min(measured / predicted, kMostRatio);
  const Point point = {static_cast<int64_t>(std::llround(attention / predicted * kPpm)),
                       static_cast<int64_t>(std::llround(ratio * kPpm))};
  if (points_.size() < kMaxObservations) {
    points_.push_back(point);
    return;
  }
  points_[next_] = point;
  next_ = (next_ + 1) % kMaxObservations;
}

void CostFit::Clear() {
  points_.clear();
  next_ = 0;
}

std::optional<CostEstimate> CostFit::Estimate(const CostScales& applied) const {
  if (points_.size() < kLeastObservations) return std::nullopt;
  std::vector<Point> sorted = points_;
  std::sort(sorted.begin(), sorted.end(), [](const Point& a, const Point& b) {
    return a.share_ppm != b.share_ppm ? a.share_ppm < b.share_ppm
                                      : a.ratio_ppm < b.ratio_ppm;
  });
  std::vector<SharePoint> points;
  points.reserve(sorted.size());
  for (const Point& point : sorted) {
    points.push_back({static_cast<double>(point.share_ppm) / kPpm,
                      static_cast<double>(point.ratio_ppm) / kPpm});
  }
  CostEstimate estimate;
  estimate.observations = points.size();
  const ScaleLine line = Refine(points, RepeatedMedian(BinMedians(points)), true);
  estimate.separable = IsSeparable(points, line);
  if (estimate.separable) {
    estimate.scales = {ClampedPpm(line.At(1) * kPpm), ClampedPpm(line.At(0) * kPpm)};
    return estimate;
  }
  const std::vector<SharePoint> relative = RelativeTo(applied, points);
  const double factor = Refine(relative, {MedianRatio(relative), 0}, false).linear;
  estimate.scales = {ClampedPpm(static_cast<double>(applied.attention_ppm) * factor),
                     ClampedPpm(static_cast<double>(applied.linear_ppm) * factor)};
  return estimate;
}

CostScales SuggestScales(const CostEstimate& estimate, const CostScales& applied) {
  return {Stepped(estimate.scales.attention_ppm, applied.attention_ppm),
          Stepped(estimate.scales.linear_ppm, applied.linear_ppm)};
}

}  // namespace evenpack
