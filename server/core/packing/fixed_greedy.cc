#include "server/core/packing/fixed_greedy.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <vector>

#include "server/core/packing/assignment.h"

namespace evenpack {
namespace {

constexpr int64_t kNoBin = std::numeric_limits<int64_t>::max();

// Which of two bins takes a document: the lighter one, the lower index on a tie.
struct Rank {
  int64_t workload = kNoBin;
  size_t bin = 0;

  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.workload, a.bin) < std::tie(b.workload, b.bin);
  }
};

// The bin of least workload among those with room: a tree whose nodes know the best
// rank and the least length below them, searched with both as bounds.
class BinTree {
 public:
  explicit BinTree(size_t size) : leaves_(std::bit_ceil(size)), nodes_(2 * leaves_) {
    for (size_t bin = 0; bin < size; ++bin) Set(bin, 0, 0);
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
  void Close(size_t bin) { Set(bin, kNoBin, kNoBin); }

  // kLeftOver where no bin is at most `longest` tokens long.
  uint32_t LeastWithin(int64_t longest) const {
    Rank best;
    Search(1, longest, best);
    return best.workload == kNoBin ? kLeftOver : static_cast<uint32_t>(best.bin);
  }

 private:
  struct Node {
    Rank best;
    int64_t length = kNoBin;
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

int64_t SizeOf(const Document* document, const PaddingRule& padding) {
  return static_cast<int64_t>(PaddedLength(padding, document->length));
}

int64_t LeastSize(const WorkList& work_list, const PaddingRule& padding) {
  int64_t least = kNoBin;
  for (const Document* document : work_list) {
    least = std::min(least, SizeOf(document, padding));
  }
  return least;
}

std::vector<uint32_t> Assign(const WorkList& work_list, size_t micro_batches,
                             const Capacity& capacity, const WorkloadTable& workload) {
  // Copies, which stay in registers.
  const PaddingRule padding = capacity.padding;
  const uint32_t most_documents = capacity.documents;
  const auto most_tokens = int64_t{capacity.tokens};
  BinTree bins(micro_batches);
  std::vector<int64_t> attention(micro_batches, 0);
  std::vector<int64_t> lengths(micro_batches, 0);
  std::vector<uint32_t> documents(micro_batches, 0);
  std::vector<uint32_t> assigned;
  assigned.reserve(work_list.size());
  const int64_t least = LeastSize(work_list, padding);
  for (const Document* document : work_list) {
    const int64_t size = SizeOf(document, padding);
    const int64_t room = std::max<int64_t>(most_tokens - size, 0);
    const uint32_t bin = bins.LeastWithin(room);
    assigned.push_back(bin);
    if (bin == kLeftOver) continue;
    attention[bin] += workload.AttentionNs(document->length);
    lengths[bin] += size;
    if (lengths[bin] + least > most_tokens || ++documents[bin] == most_documents) {
      bins.Close(bin);
      continue;
    }
    bins.Set(bin,
             attention[bin] + workload.LinearNs(static_cast<uint64_t>(lengths[bin])),
             lengths[bin]);
  }
  return assigned;
}

}  // namespace

Packing PackFixedGreedy(const WorkList& work_list, size_t micro_batches,
                        const Capacity& capacity, const WorkloadTable& workload) {
  const std::vector<uint32_t> bins =
      Assign(work_list, micro_batches, capacity, workload);
  Packing packing = Collect(work_list, bins, micro_batches, capacity.padding, workload);
  std::stable_sort(packing.micro_batches.begin(), packing.micro_batches.end(),
                   [](const MicroBatch& a, const MicroBatch& b) {
                     return a.workload_ns > b.workload_ns;
                   });
  return packing;
}

}  // namespace evenpack
