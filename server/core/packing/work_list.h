// Documents in the order in which a packer takes them.
#ifndef EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_
#define EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_

#include <cstddef>
#include <span>
#include <vector>

#include "server/core/document/document.h"

namespace evenpack {

// Points at documents that outlive it, so that putting them in order moves eight bytes
// for each. Never null. At most 2^32-1 of them.
using WorkList = std::vector<const Document*>;

// In the order given.
WorkList PointTo(std::span<const Document> documents);

// Stable sort by length, longest first: equal lengths keep their order.
void SortLongestFirst(WorkList& work_list);

// In the order in which they were admitted (IsOlder).
void SortOldestFirst(WorkList& work_list);

// Asks the processor for the document some places behind the i-th: in order of length
// documents are scattered over memory, and a step's may not fit in the cache.
inline void PrefetchBehind(const WorkList& work_list, size_t i) {
  constexpr size_t kAhead = 16;
  if (i + kAhead < work_list.size()) __builtin_prefetch(work_list[i + kAhead]);
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_
