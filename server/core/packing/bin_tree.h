// The lightest of N micro-batches that has room.
#ifndef EVENPACK_SERVER_CORE_PACKING_BIN_TREE_H_
#define EVENPACK_SERVER_CORE_PACKING_BIN_TREE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "server/core/packing/assignment.h"

namespace evenpack {

// A tree whose nodes know the lightest bin and the least length below them, searched
// with both as bounds: Set() is O(log bins), LeastWithin() as a rule too. Not
// thread-safe.
class BinTree {
 public:
  // 1 <= bins < 2^32, all empty.
  explicit BinTree(size_t bins) : leaves_(std::bit_ceil(bins)), nodes_(2 * leaves_) {
    for (size_t bin = 0; bin < bins; ++bin) Set(bin, 0, 0);
  }

  void Set(size_t bin, int64_t workload, int64_t length) {
    size_t node = leaves_ + bin;
    nodes_[node] = {{workload, bin}, length};
    for (node /= 2; node > 0; node /= 2) {
      const Node& left = nodes_[2 * node];
      const Node& right = nodes_[2 * node + 1];
      nodes_[node] = {std::min(left.best, right.best),
                      std::min(left.length, right.length)};
    }
  }

  // A bin that will never have room again.
  void Close(size_t bin) { Set(bin, kNone, kNone); }

  // The bin of least workload among those of at most `longest` tokens, ties to the
  // lowest index; kLeftOver where there is none.
  uint32_t LeastWithin(int64_t longest) const {
    Rank best;
    Search(1, longest, best);
    return best.workload == kNone ? kLeftOver : static_cast<uint32_t>(best.bin);
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  // Which of two bins takes a document: the lighter one, the lower index on a tie.
  struct Rank {
    int64_t workload = kNone;
    size_t bin = 0;

    friend bool operator<(const Rank& a, const Rank& b) {
      return std::tie(a.workload, a.bin) < std::tie(b.workload, b.bin);
    }
  };
  struct Node {
    Rank best;
    int64_t length = kNone;
  };

  // Of the two halves the one that may hold the better bin first: what it finds cuts
  // the search of the other short.
  void Search(size_t node, int64_t longest, Rank& best) const {
    if (nodes_[node].length > longest || !(nodes_[node].best < best)) return;
    if (node >= leaves_) {
      best = nodes_[node].best;
      return;
    }
    const size_t first = nodes_[2 * node + 1].best < nodes_[2 * node].best ? 1 : 0;
    Search(2 * node + first, longest, best);
    Search(2 * node + 1 - first, longest, best);
  }

  size_t leaves_;
  // Node 1 is the root, node i has children 2i and 2i+1.
  std::vector<Node> nodes_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_BIN_TREE_H_
