// Tells a true re-send of documents from different content under the same numbers.
#ifndef EVENPACK_SERVER_CORE_ENGINE_RESEND_WINDOW_H_
#define EVENPACK_SERVER_CORE_ENGINE_RESEND_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/document/compared_documents.h"
#include "server/core/document/document.h"

namespace evenpack {

// What a re-send is compared by: 64 bits over length, loss tokens, id and source, mixed
// by the finaliser of MurmurHash3 (Appleby). It tells accidents, not attacks.
uint64_t ContentHash(const Document& document);

// The content hashes of a stream's last documents. What a producer sends again after a
// lost connection is its last messages; documents older than the window are trimmed
// without a check. Not thread-safe.
class ResendWindow {
 public:
  static constexpr size_t kCapacity = kComparedDocuments;

  ResendWindow() = default;
  // As stored: the hashes of the last documents, oldest first, at most kCapacity.
  explicit ResendWindow(std::span<const uint64_t> hashes);

  // `documents` are the stream's next ones.
  void Append(std::span<const Document> documents);

  // The hashes held, oldest first.
  std::vector<uint64_t> Hashes() const;

  // The position of the first of `documents` that is not the one appended under its
  // sequence number, or documents.size(). All of them are below `next`, the sequence
  // number of the stream's next document.
  size_t FirstDifference(std::span<const Document> documents, uint64_t next) const;

  friend bool operator==(const ResendWindow& a, const ResendWindow& b) {
    return a.Hashes() == b.Hashes();
  }

 private:
  // A ring once it is full: the oldest hash is at next_.
  std::vector<uint64_t> ring_;
  size_t next_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_RESEND_WINDOW_H_
