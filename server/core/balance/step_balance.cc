#include "server/core/balance/step_balance.h"

#include <algorithm>

namespace evenpack {

double StepBalance::ImbalanceDegree() const {
  if (total_workload_ns == 0) return 1;
  return static_cast<double>(max_workload_ns) * static_cast<double>(micro_batches) /
         static_cast<double>(total_workload_ns);
}

double StepBalance::LowerBound() const {
  if (total_workload_ns == 0) return 1;
  return std::max(1.0, static_cast<double>(largest_document_ns) *
                           static_cast<double>(micro_batches) /
                           static_cast<double>(total_workload_ns));
}

double StepBalance::LongDocumentShare() const {
  if (tokens == 0) return 0;
  return static_cast<double>(long_document_tokens) / static_cast<double>(tokens);
}

StepBalance MeasureBalance(const Step& step, const WorkloadTable& workload,
                           uint32_t window) {
  StepBalance balance;
  balance.micro_batches = step.micro_batches.size();
  uint32_t longest = 0;
  for (const MicroBatch& micro_batch : step.micro_batches) {
    balance.max_workload_ns =
        std::max(balance.max_workload_ns, micro_batch.workload_ns);
    balance.total_workload_ns += micro_batch.workload_ns;
    balance.tokens += micro_batch.tokens;
    balance.longest_micro_batch =
        std::max(balance.longest_micro_batch, micro_batch.tokens);
    for (const Document& document : micro_batch.documents) {
      longest = std::max(longest, document.length);
      if (IsLongDocument(document.document_length, window)) {
        balance.long_document_tokens += document.length;
      }
    }
  }
  balance.largest_document_ns =
      workload.AttentionNs(longest) + workload.LinearNs(longest);
  return balance;
}

}  // namespace evenpack
