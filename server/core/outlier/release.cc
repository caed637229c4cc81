#include "server/core/outlier/release.h"

#include <algorithm>

namespace evenpack {
namespace {

size_t CountDue(std::span<const Document> documents, uint64_t due_before_batch) {
  const auto first_not_due = std::find_if(documents.begin(), documents.end(),
                                          [due_before_batch](const Document& document) {
                                            return document.batch >= due_before_batch;
                                          });
  return static_cast<size_t>(first_not_due - documents.begin());
}

}  // namespace

std::vector<size_t> PlanRelease(std::span<const DocumentFifo> queues,
                                std::span<const std::vector<Document>> entering,
                                const ReleaseRule& rule) {
  std::vector<size_t> counts;
  counts.reserve(queues.size());
  for (size_t k = 0; k < queues.size(); ++k) {
    const size_t size = queues[k].size() + entering[k].size();
    size_t count = 0;
    if (size >= rule.micro_batches) {
      count = rule.micro_batches;
    } else if (rule.release_short_queues) {
      count = size;
    }
    if (rule.due_before_batch > 0) {
      size_t due = CountDue(queues[k].view(), rule.due_before_batch);
      if (due == queues[k].size()) due += CountDue(entering[k], rule.due_before_batch);
      count = std::max(count, due);
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace evenpack
