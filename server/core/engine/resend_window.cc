#include "server/core/engine/resend_window.h"

#include <algorithm>

namespace evenpack {

namespace {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace

uint64_t ContentHash(const Document& document) {
  const uint64_t tokens = document.document_length | uint64_t{document.loss_tokens}
                                                         << 32;
  return Mix(Mix(Mix(tokens) ^ document.id) ^ document.source);
}

ResendWindow::ResendWindow(std::span<const uint64_t> hashes)
    : ring_(hashes.begin(), hashes.end()) {}

void ResendWindow::Append(std::span<const Document> documents) {
  const size_t room = std::min(kCapacity - ring_.size(), documents.size());
  for (const Document& document : documents.first(room)) {
    ring_.push_back(ContentHash(document));
  }
  for (const Document& document : documents.subspan(room)) {
    ring_[next_] = ContentHash(document);
    next_ = (next_ + 1) % kCapacity;
  }
}

std::vector<uint64_t> ResendWindow::Hashes() const {
  std::vector<uint64_t> hashes = ring_;
  std::rotate(hashes.begin(), hashes.begin() + static_cast<ptrdiff_t>(next_),
              hashes.end());
  return hashes;
}

size_t ResendWindow::FirstDifference(std::span<const Document> documents,
                                     uint64_t next) const {
  const uint64_t oldest = next - ring_.size();
  for (size_t i = 0; i < documents.size(); ++i) {
    const uint64_t sequence = documents[i].sequence;
    if (sequence < oldest) continue;
    const size_t at = (next_ + (sequence - oldest)) % ring_.size();
    if (ring_[at] != ContentHash(documents[i])) return i;
  }
  return documents.size();
}

}  // namespace evenpack
