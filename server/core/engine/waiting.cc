#include "server/core/engine/waiting.h"

#include <algorithm>
#include <optional>

#include "server/core/outlier/queue_thresholds.h"

namespace evenpack {
namespace {

void SortByAdmission(std::vector<Document>& documents) {
  std::sort(documents.begin(), documents.end(), IsOlder);
}

}  // namespace

void ForEachWaiting(const Waiting& waiting,
                    absl::FunctionRef<void(const Document&)> visit) {
  for (const DocumentFifo& queue : waiting.queues) {
    for (const Document& document : queue.view()) visit(document);
  }
  for (const Document& document : waiting.left_over) visit(document);
  for (const Step& step : waiting.planned) {
    for (const MicroBatch& micro_batch : step.micro_batches) {
      for (const Document& document : micro_batch.documents) visit(document);
    }
  }
}

uint64_t WaitingTokens(const Waiting& waiting) {
  uint64_t tokens = 0;
  for (const DocumentFifo& queue : waiting.queues) tokens += queue.tokens();
  for (const Document& document : waiting.left_over) tokens += document.length;
  return tokens;
}

bool IsEmpty(const Waiting& waiting) {
  return waiting.left_over.empty() && waiting.planned.empty() &&
         std::all_of(waiting.queues.begin(), waiting.queues.end(),
                     [](const DocumentFifo& queue) { return queue.empty(); });
}

std::vector<Document> TakeAt(std::span<const uint64_t> positions,
                             std::vector<Document>& documents) {
  std::vector<Document> taken;
  taken.reserve(positions.size());
  size_t kept = positions.empty() ? documents.size() : positions.front();
  for (size_t i = kept; i < documents.size(); ++i) {
    if (taken.size() < positions.size() && positions[taken.size()] == i) {
      taken.push_back(documents[i]);
    } else {
      documents[kept++] = documents[i];
    }
  }
  documents.resize(kept);
  return taken;
}

void PutBackAt(std::span<const uint64_t> positions, std::span<const Document> taken,
               std::vector<Document>& documents) {
  size_t kept = documents.size();
  documents.resize(documents.size() + positions.size());
  size_t back = positions.size();
  for (size_t i = documents.size(); i-- > 0 && back > 0;) {
    documents[i] = positions[back - 1] == i ? taken[--back] : documents[--kept];
  }
}

Waiting Rearrange(const Waiting& waiting, const PolicySpec& policy) {
  std::vector<Document> queued;
  for (const DocumentFifo& queue : waiting.queues) {
    queued.insert(queued.end(), queue.view().begin(), queue.view().end());
  }
  std::vector<Document> planned;
  for (const Step& step : waiting.planned) {
    for (const MicroBatch& micro_batch : step.micro_batches) {
      planned.insert(planned.end(), micro_batch.documents.begin(),
                     micro_batch.documents.end());
    }
  }
  SortByAdmission(queued);
  SortByAdmission(planned);

  Waiting result;
  result.left_over = waiting.left_over;
  result.left_over.insert(result.left_over.end(), planned.begin(), planned.end());
  result.queues.resize(QueueCount(policy));
  for (const Document& document : queued) {
    const std::optional<size_t> queue =
        result.queues.empty() ? std::nullopt
                              : QueueOf(policy.queue_thresholds, document.length);
    if (queue.has_value()) {
      result.queues[*queue].PushBack({&document, 1});
    } else {
      result.left_over.push_back(document);
    }
  }
  return result;
}

}  // namespace evenpack
