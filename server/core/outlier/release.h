// How many documents each delay queue gives up in a step (WLB-LLM section 4.2,
// Algorithm 1, lines 8 to 12), with a bound on waiting added.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_RELEASE_H_
#define EVENPACK_SERVER_CORE_OUTLIER_RELEASE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/document/document_fifo.h"

namespace evenpack {

struct ReleaseRule {
  // N: what a queue must hold to give up documents, and how many it then gives up.
  size_t micro_batches = 1;
  // Backlog and drain steps: a queue that holds fewer than N gives up all it holds.
  bool release_short_queues = false;
  // Documents admitted by a batch before this one go however short their queue is, and
  // may take the count above N. 0: no document is due.
  uint64_t due_before_batch = 0;
};

// Per queue, the count of documents to take from its front once `entering[k]` has been
// appended to `queues[k]`. Both are ordered by batch and equally long.
std::vector<size_t> PlanRelease(std::span<const DocumentFifo> queues,
                                std::span<const std::vector<Document>> entering,
                                const ReleaseRule& rule);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_RELEASE_H_
