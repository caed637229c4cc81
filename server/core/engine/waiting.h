// Documents that were admitted and not yet emitted.
#ifndef EVENPACK_SERVER_CORE_ENGINE_WAITING_H_
#define EVENPACK_SERVER_CORE_ENGINE_WAITING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/document/document.h"
#include "server/core/document/document_fifo.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

struct Waiting {
  // kWlb: one per threshold, in the order of admission.
  std::vector<DocumentFifo> queues;
  // Those left over longer first.
  std::vector<Document> left_over;
  // kFixedGreedy: the window's steps to come; kind and micro_batches are set.
  std::vector<Step> planned;

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

// Every waiting document once; queues, then left-overs, then planned ones.
void ForEachWaiting(const Waiting& waiting,
                    absl::FunctionRef<void(const Document&)> visit);

// Tokens in queues and left over (planned ones are as good as emitted).
uint64_t WaitingTokens(const Waiting& waiting);

bool IsEmpty(const Waiting& waiting);

// Takes out the documents at the given rising positions, and undoes that.
std::vector<Document> TakeAt(std::span<const uint64_t> positions,
                             std::vector<Document>& documents);
void PutBackAt(std::span<const uint64_t> positions, std::span<const Document> taken,
               std::vector<Document>& documents);

// The same documents under another policy or other thresholds: what was queued is
// queued anew or, below the first threshold, left over; what was planned is left over.
Waiting Rearrange(const Waiting& waiting, const PolicySpec& policy);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_WAITING_H_
