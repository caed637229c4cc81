#include "gpu_worker/cudnn/plan_ladder.h"

#include <algorithm>
#include <bit>

namespace evenpack::worker {
namespace {

// A tile of the kernels, beneath which no length is cheaper.
constexpr int64_t kLeastLength = 128;

int64_t Length(int64_t tokens) {
  return static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max(tokens, kLeastLength))));
}

int64_t Sequences(int64_t count) {
  int64_t step = 1;
  while (step < count) step *= 4;
  return step;
}

}  // namespace

PlanShape OnLadder(PlanShape shape) {
  shape.sequences = Sequences(shape.sequences);
  shape.queries = Length(shape.queries);
  shape.keys = Length(shape.keys);
  if (shape.pass == Pass::kBackward) {
    shape.all_queries = Length(shape.all_queries);
    shape.all_keys = Length(shape.all_keys);
  }
  return shape;
}

}  // namespace evenpack::worker
