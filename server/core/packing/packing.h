// What every packing policy returns.
#ifndef EVENPACK_SERVER_CORE_PACKING_PACKING_H_
#define EVENPACK_SERVER_CORE_PACKING_PACKING_H_

#include <optional>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/document/micro_batch.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// Each document given to the policy, or each piece of one that it cut, is in exactly
// one of these.
struct Packing {
  // As many as were asked for; all but sharding is set.
  std::vector<MicroBatch> micro_batches;
  // What fitted nowhere, in the order it was given.
  WorkList left_over;
  // What is left of the document before those, where only its front found room.
  std::optional<Document> rest;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_PACKING_H_
