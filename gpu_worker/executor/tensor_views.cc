#include "gpu_worker/executor/tensor_views.h"

#include <algorithm>

namespace evenpack::worker {

std::vector<HeadRange> HeadGroups(const AttentionShape& shape, uint32_t groups) {
  const uint32_t heads = shape.kv_heads;
  groups = std::clamp<uint32_t>(groups, 1, heads);
  std::vector<HeadRange> ranges;
  for (uint32_t g = 0; g < groups; ++g) {
    const uint32_t begin = heads * g / groups;
    ranges.push_back({begin, heads * (g + 1) / groups - begin});
  }
  return ranges;
}

AttentionShape HeadView::shape() const {
  AttentionShape shape = shape_;
  shape.kv_heads = heads_.count;
  shape.query_heads = heads_.count * shape_.group_size();
  return shape;
}

}  // namespace evenpack::worker
