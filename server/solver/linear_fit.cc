#include "server/solver/linear_fit.h"

#include <algorithm>
#include <cmath>

namespace evenpack {

LinearFit FitLine(const LengthCurve& curve, int64_t capacity) {
  const std::vector<int64_t>& values = curve.values();
  LinearFit fit;
  if (values.empty() || values.back() == 0) return fit;
  fit.per_token = static_cast<double>(curve.At(static_cast<uint64_t>(capacity))) /
                  static_cast<double>(capacity);
  // Between two knots a line is no farther from another than at the knots; the curve is
  // that line rounded down, by less than one.
  for (size_t knot = 0; knot < values.size(); ++knot) {
    const double tokens = std::ldexp(static_cast<double>(knot), curve.knot_shift());
    const double distance =
        std::abs(static_cast<double>(values[knot]) - fit.per_token * tokens);
    fit.error = std::max(fit.error, distance + 1);
    if (tokens >= static_cast<double>(capacity)) break;
  }
  return fit;
}

}  // namespace evenpack
