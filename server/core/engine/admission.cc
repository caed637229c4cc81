#include "server/core/engine/admission.h"

#include <algorithm>

#include "server/core/engine/job_layout.h"

namespace evenpack {
namespace {

void AppendPieces(Document document, uint64_t order, uint64_t batch, uint32_t longest,
                  std::vector<Document>& pieces) {
  document.order = order;
  document.batch = batch;
  while (document.length > longest) pieces.push_back(CutFront(document, longest));
  pieces.push_back(document);
}

}  // namespace

Admission NoAdmission(const JobState& state) {
  Admission admission;
  admission.merge = state.position.merge;
  admission.taken.assign(state.streams.size(), 0);
  return admission;
}

Admission Admit(const JobState& state, uint64_t target) {
  const JobSpec& spec = state.spec;
  const uint64_t batch_tokens = GlobalBatchTokens(spec);
  const uint64_t batches = BatchesPerWindow(spec);
  // Tokens that the window's first batches already hold.
  const uint64_t held = WindowTokens(spec) - std::min(target, WindowTokens(spec));

  Admission admission;
  MergeReader reader = ReadMerge(state);
  std::vector<const Document*> admitted;
  // For most steps of a few micro-batches.
  admitted.reserve(256);
  while (admission.tokens < target) {
    const Document* next = reader.Next();
    if (next == nullptr) break;
    admitted.push_back(next);
    admission.tokens += next->length;
  }
  admission.exhausted = reader.Exhausted();
  admission.awaited = reader.awaited();
  // Too few: the caller refuses, and needs no documents for that.
  if (admission.tokens < target && !admission.exhausted) return admission;
  admission.documents.reserve(admitted.size());
  const uint32_t longest = LongestDocument(spec);
  uint64_t order = state.position.documents_admitted;
  uint64_t tokens = held;
  for (const Document* next : admitted) {
    const uint64_t batch = std::min(tokens / batch_tokens, batches - 1);
    tokens += next->length;
    AppendPieces(*next, order++, state.position.batches_admitted + batch, longest,
                 admission.documents);
    admission.batches = batch + 1;
  }
  if (admission.tokens >= target) admission.batches = batches;
  admission.merge = reader.cursor();
  admission.taken = reader.taken();
  return admission;
}

}  // namespace evenpack
