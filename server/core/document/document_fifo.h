// Documents in first-in-first-out order, in one block of memory.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_FIFO_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_FIFO_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/document/document.h"

namespace evenpack {

// Appending and popping are O(1) amortised; what is held is contiguous, so that a
// decision can read it as a span. Not thread-safe.
class DocumentFifo {
 public:
  size_t size() const { return documents_.size() - head_; }
  bool empty() const { return size() == 0; }
  // Sum of the lengths held.
  uint64_t tokens() const { return tokens_; }
  // Oldest first; valid until the next change.
  std::span<const Document> view() const {
    return std::span(documents_).subspan(head_);
  }
  const Document& front() const { return documents_[head_]; }

  void PushBack(std::span<const Document> documents);
  // Puts documents before the oldest, in the given order.
  void PushFront(std::span<const Document> documents);
  // count <= size().
  std::vector<Document> PopFront(size_t count);
  void DropBack(size_t count);
  // O(size()).
  void EraseIf(absl::FunctionRef<bool(const Document&)> goes);

  friend bool operator==(const DocumentFifo& a, const DocumentFifo& b);

 private:
  std::vector<Document> documents_;
  size_t head_ = 0;  // documents_[0, head_) have been popped
  uint64_t tokens_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_FIFO_H_
