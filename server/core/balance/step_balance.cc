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

void BalanceMeter::AddDocument(uint32_t length, uint32_t document_length) {
  longest_ = std::max(longest_, length);
  if (IsLongDocument(document_length, window_)) {
    balance_.long_document_tokens += length;
  }
}

void BalanceMeter::AddMicroBatch(uint64_t tokens, int64_t workload_ns) {
  ++balance_.micro_batches;
  balance_.max_workload_ns = std::max(balance_.max_workload_ns, workload_ns);
  balance_.total_workload_ns += workload_ns;
  balance_.tokens += tokens;
  balance_.longest_micro_batch = std::max(balance_.longest_micro_batch, tokens);
}

StepBalance BalanceMeter::Balance() const {
  StepBalance balance = balance_;
  balance.largest_document_ns =
      workload_.AttentionNs(longest_) + workload_.LinearNs(longest_);
  return balance;
}

StepBalance MeasureBalance(const Step& step, const WorkloadTable& workload,
                           uint32_t window) {
  BalanceMeter meter(workload, window);
  for (const MicroBatch& micro_batch : step.micro_batches) {
    for (const Document& document : micro_batch.documents) {
      meter.AddDocument(document.length, document.document_length);
    }
    meter.AddMicroBatch(micro_batch.tokens, micro_batch.workload_ns);
  }
  return meter.Balance();
}

}  // namespace evenpack
