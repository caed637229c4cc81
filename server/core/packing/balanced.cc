#include "server/core/packing/balanced.h"

#include <vector>

#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_tree.h"
#include "server/core/packing/local_search.h"

namespace evenpack {
namespace {

// Pairs of a document and a micro-batch that the local search looks at, at most: some
// microseconds for a small step, and in proportion to a large one.
uint64_t MostOperations(size_t micro_batches) { return 256 + 64 * micro_batches; }

std::vector<uint32_t> AssignToLightest(const WorkList& work_list,
                                       const TrimTerms& terms,
                                       const WorkloadTable& workload) {
  const PaddingRule padding = terms.capacity.padding;
  const auto most_tokens = int64_t{terms.capacity.tokens};
  BinTree tree(terms.micro_batches);
  std::vector<int64_t> attention(terms.micro_batches, 0);
  std::vector<int64_t> lengths(terms.micro_batches, 0);
  std::vector<uint32_t> documents(terms.micro_batches, 0);
  std::vector<uint32_t> bins;
  bins.reserve(work_list.size());
  for (size_t i = 0; i < work_list.size(); ++i) {
    PrefetchBehind(work_list, i);
    const auto size = static_cast<int64_t>(PaddedLength(padding, work_list[i]->length));
    const uint32_t bin =
        size > most_tokens ? kLeftOver : tree.LeastWithin(most_tokens - size);
    bins.push_back(bin);
    if (bin == kLeftOver) continue;
    attention[bin] += workload.AttentionNs(work_list[i]->length);
    lengths[bin] += size;
    if (++documents[bin] == terms.capacity.documents) {
      tree.Close(bin);
    } else {
      tree.Set(bin,
               attention[bin] + workload.LinearNs(static_cast<uint64_t>(lengths[bin])),
               lengths[bin]);
    }
  }
  return bins;
}

}  // namespace

BalancedPacking PackBalanced(const WorkList& due, const WorkList& goes,
                             const TrimTerms& terms, bool finish,
                             const WorkloadTable& workload) {
  WorkList work_list = due;
  work_list.insert(work_list.end(), goes.begin(), goes.end());
  std::vector<uint32_t> bins = AssignToLightest(work_list, terms, workload);
  BalancedPacking packed;
  if (finish) {
    TrimTerms trim = terms;
    trim.kept = due.size();
    Trim(work_list, trim, workload, bins);
    packed.operations =
        ImproveByLocalSearch(work_list, terms.micro_batches, terms.capacity, workload,
                             MostOperations(terms.micro_batches), bins);
  }
  packed.packing =
      Collect(work_list, bins, terms.micro_batches, terms.capacity.padding, workload);
  return packed;
}

}  // namespace evenpack
