// The least of N changing numbers, ties to the lowest index.
#ifndef EVENPACK_SERVER_CORE_PACKING_LOAD_TREE_H_
#define EVENPACK_SERVER_CORE_PACKING_LOAD_TREE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace evenpack {

// A tournament tree over the loads of bins: Least() is O(1), Set() O(log bins). Not
// thread-safe.
class LoadTree {
 public:
  // 1 <= bins < 2^32, all of load 0.
  explicit LoadTree(size_t bins) : LoadTree(std::vector<int64_t>(bins, 0)) {}
  // loads[i] is that of bin i.
  explicit LoadTree(std::span<const int64_t> loads)
      : leaves_(std::bit_ceil(loads.size())), nodes_(2 * leaves_) {
    for (size_t i = 0; i < leaves_; ++i) {
      nodes_[leaves_ + i] = {
          .load = i < loads.size() ? loads[i] : std::numeric_limits<int64_t>::max(),
          .bin = i};
    }
    for (size_t node = leaves_ - 1; node > 0; --node) nodes_[node] = Winner(node);
  }

  size_t Least() const { return nodes_[1].bin; }
  int64_t LoadOf(size_t bin) const { return nodes_[leaves_ + bin].load; }

  void Set(size_t bin, int64_t load) {
    size_t node = leaves_ + bin;
    nodes_[node].load = load;
    for (node /= 2; node > 0; node /= 2) {
      const Node& winner = Winner(node);
      // Above a match that the bin neither won before nor wins now nothing changes.
      if (winner.bin != bin && nodes_[node].bin != bin) return;
      nodes_[node] = winner;
    }
  }

 private:
  // The winner of the match at a node.
  struct Node {
    int64_t load = 0;
    size_t bin = 0;
  };

  const Node& Winner(size_t node) const {
    const Node& left = nodes_[2 * node];
    const Node& right = nodes_[2 * node + 1];
    return right.load < left.load ? right : left;
  }

  size_t leaves_;
  // Node 1 is the root, node i has children 2i and 2i+1.
  std::vector<Node> nodes_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_LOAD_TREE_H_
