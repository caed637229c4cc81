// What every packing policy returns.
#ifndef EVENPACK_SERVER_CORE_PACKING_PACKING_H_
#define EVENPACK_SERVER_CORE_PACKING_PACKING_H_

#include <vector>

#include "server/core/document/document.h"
#include "server/core/document/micro_batch.h"

namespace evenpack {

// Each document given to the policy (or, where it cuts, all pieces of it) is in exactly
// one of the two.
struct Packing {
  // As many as were asked for; documents, tokens and workload_ns are set.
  std::vector<MicroBatch> micro_batches;
  // What fitted nowhere, in the order it was given.
  std::vector<Document> left_over;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_PACKING_H_
