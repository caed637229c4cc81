// The order in which documents of several streams become one stream.
#ifndef EVENPACK_SERVER_CORE_ENGINE_MERGE_H_
#define EVENPACK_SERVER_CORE_ENGINE_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/document/document_fifo.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Where the merge stands between two documents.
struct MergeCursor {
  // kInterleave: what each stream is owed; a document is worth the sum of the weights.
  std::vector<int64_t> credit;
  // kInterleave: 1 for a stream whose turn came after its last document.
  std::vector<uint8_t> out;

  friend bool operator==(const MergeCursor&, const MergeCursor&) = default;
};

// What the merge sees of a stream.
struct MergeInput {
  std::span<const Document> documents;
  bool ended = false;
};

// Reads documents in merged order; takes nothing, so a decision can be dropped.
//
// kInterleave is smooth weighted round robin: at each turn every stream is credited its
// weight, the one with most credit (lowest index on a tie) gives a document and pays
// the sum of the weights. At the turn of a stream that has no document the merge waits,
// unless the stream has ended; only then, at its own turn, it is out. So the order is
// a function of the streams' contents alone, whatever arrived when.
// kArrival takes the document accepted first (Document::order).
// Either takes time in proportion to the number of streams for each document.
class MergeReader {
 public:
  MergeReader(MergeMode mode, std::span<const StreamSpec> streams,
              std::vector<MergeInput> inputs, MergeCursor cursor);

  // Null where the merge waits for a document, or all streams have ended.
  const Document* Next() {
    // Alone, a stream pays back what it is credited, and has what arrived first.
    if (inputs_.size() == 1 && HasDocument(0)) return Take(0);
    return mode_ == MergeMode::kInterleave ? NextInterleaved() : NextArrived();
  }
  // True once all streams have ended and all their documents were read.
  bool Exhausted() const;
  // kInterleave: the stream for whose next document, or end, the merge waits, where
  // Next gave null for that. Whatever comes of others, it waits for that one first.
  std::optional<size_t> awaited() const { return awaited_; }

  const MergeCursor& cursor() const { return cursor_; }
  // Per stream, documents read so far.
  const std::vector<uint64_t>& taken() const { return taken_; }

 private:
  const Document* NextInterleaved();
  const Document* NextArrived();
  const Document* Take(size_t stream) {
    return &inputs_[stream].documents[taken_[stream]++];
  }
  bool HasDocument(size_t stream) const {
    return taken_[stream] < inputs_[stream].documents.size();
  }

  const MergeMode mode_;
  const std::span<const StreamSpec> streams_;
  const std::vector<MergeInput> inputs_;
  MergeCursor cursor_;
  std::vector<uint64_t> taken_;
  std::optional<size_t> awaited_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_MERGE_H_
