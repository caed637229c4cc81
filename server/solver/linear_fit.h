// The straight line that stands for W_l in a programme, which knows lines only.
#ifndef EVENPACK_SERVER_SOLVER_LINEAR_FIT_H_
#define EVENPACK_SERVER_SOLVER_LINEAR_FIT_H_

#include <cstdint>

#include "server/core/cost/length_curve.h"

namespace evenpack {

// For every t from 0 to the capacity that it was made for, |curve.At(t) - per_token *
// t|
// <= error. The curves of QuadraticCost and AnalyticCost are lines that were rounded:
// their error is one or two nanoseconds, of hundreds of millions.
struct LinearFit {
  double per_token = 0;
  double error = 0;
};

// The line through zero and the curve's value at `capacity`, at least 1 and within the
// curve's max_tokens, unless the curve is zero.
LinearFit FitLine(const LengthCurve& curve, int64_t capacity);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_LINEAR_FIT_H_
