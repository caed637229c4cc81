// Documents in the order in which a packer takes them.
#ifndef EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_
#define EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_

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

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_WORK_LIST_H_
