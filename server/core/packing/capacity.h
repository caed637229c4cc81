// What one micro-batch may hold.
#ifndef EVENPACK_SERVER_CORE_PACKING_CAPACITY_H_
#define EVENPACK_SERVER_CORE_PACKING_CAPACITY_H_

#include <cstdint>
#include <limits>

#include "server/core/document/padding.h"

namespace evenpack {

struct Capacity {
  // Sum of the documents' padded lengths, at most: CapacityWithin of the tokens that
  // the whole, padded, may come to.
  uint32_t tokens = 1;
  // Documents (or pieces), at most. At least 1.
  uint32_t documents = std::numeric_limits<uint32_t>::max();
  PaddingRule padding = {};
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_CAPACITY_H_
