#include "server/core/packing/balanced.h"

#include <vector>

#include "server/core/packing/assign_to_lightest.h"
#include "server/core/packing/assignment.h"
#include "server/core/packing/local_search.h"
#include "server/core/packing/trim.h"

namespace evenpack {
namespace {

// Pairs of a document and a micro-batch that the local search looks at, at most: some
// microseconds for a small step, and in proportion to a large one.
uint64_t MostOperations(size_t micro_batches) { return 256 + 64 * micro_batches; }

}  // namespace

BalancedPacking PackBalanced(const WorkList& due, const WorkList& goes,
                             const StepTerms& terms, bool finish,
                             const LeaningWorkload& workload) {
  WorkList work_list = due;
  work_list.insert(work_list.end(), goes.begin(), goes.end());
  std::vector<uint32_t> bins =
      AssignToLightest(work_list, terms.micro_batches, terms.capacity, workload);
  BalancedPacking packed;
  if (finish) {
    Trim(work_list, {terms, /*kept=*/due.size()}, workload, bins);
    packed.operations =
        ImproveByLocalSearch(work_list, terms.micro_batches, terms.capacity, workload,
                             MostOperations(terms.micro_batches), bins);
  }
  packed.packing = Collect(work_list, bins, terms.micro_batches, terms.capacity.padding,
                           workload.table());
  return packed;
}

}  // namespace evenpack
