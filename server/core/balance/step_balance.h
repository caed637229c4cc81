// How even a step is, and what it means for training: the figures that are reported
// wherever a step is.
#ifndef EVENPACK_SERVER_CORE_BALANCE_STEP_BALANCE_H_
#define EVENPACK_SERVER_CORE_BALANCE_STEP_BALANCE_H_

#include <cstdint>

#include "server/core/cost/workload_table.h"
#include "server/core/document/step.h"

namespace evenpack {

struct StepBalance {
  // Over the step's micro-batches, in nanoseconds.
  int64_t max_workload_ns = 0;
  int64_t total_workload_ns = 0;
  // The heaviest single document, as if it were a micro-batch of its own.
  int64_t largest_document_ns = 0;
  uint64_t micro_batches = 0;
  uint64_t tokens = 0;
  uint64_t longest_micro_batch = 0;
  // Tokens of documents (whole, before any cut) of a quarter window or more.
  uint64_t long_document_tokens = 0;

  // Max over mean of predicted workload (WLB-LLM section 3.1): 1 is perfect, N the
  // worst. 1 for a step without work.
  double ImbalanceDegree() const;
  // The least that any packing of a step of this mean could reach:
  // max(largest document, mean) / mean. 1 for a step without work.
  double LowerBound() const;
  // Share of the step's tokens, 0 to 1. 0 for a step without tokens.
  double LongDocumentShare() const;
};

// `window` is L in tokens: documents of at least L/4 count as long.
StepBalance MeasureBalance(const Step& step, const WorkloadTable& workload,
                           uint32_t window);

// The same of documents and micro-batches that are told one by one. Not thread-safe.
class BalanceMeter {
 public:
  // `workload` outlives it.
  BalanceMeter(const WorkloadTable& workload, uint32_t window)
      : workload_(workload), window_(window) {}

  // One of `length` tokens, cut from a document of so many.
  void AddDocument(uint32_t length, uint32_t document_length);
  void AddMicroBatch(uint64_t tokens, int64_t workload_ns);

  StepBalance Balance() const;

 private:
  const WorkloadTable& workload_;
  const uint32_t window_;
  StepBalance balance_;
  uint32_t longest_ = 0;
};

// The length from which a document counts as long.
inline uint32_t LongFrom(uint32_t window) { return (window + 3) / 4; }
inline bool IsLongDocument(uint32_t document_length, uint32_t window) {
  return document_length >= LongFrom(window);
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_BALANCE_STEP_BALANCE_H_
