#include "server/core/document/document_fifo.h"

#include <algorithm>

namespace evenpack {
namespace {

uint64_t SumOfLengths(std::span<const Document> documents) {
  uint64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return tokens;
}

}  // namespace

void DocumentFifo::PushBack(std::span<const Document> documents) {
  documents_.insert(documents_.end(), documents.begin(), documents.end());
  tokens_ += SumOfLengths(documents);
}

void DocumentFifo::PushFront(std::span<const Document> documents) {
  if (documents.size() > head_) {
    // A gap as large as what is held, so that moving it is paid for by as many pushes.
    const size_t gap = documents.size() + size();
    documents_.insert(documents_.begin(), gap - head_, Document());
    head_ = gap;
  }
  head_ -= documents.size();
  std::ranges::copy(documents, documents_.begin() + static_cast<ptrdiff_t>(head_));
  tokens_ += SumOfLengths(documents);
}

std::vector<Document> DocumentFifo::PopFront(size_t count) {
  const auto first = documents_.begin() + static_cast<ptrdiff_t>(head_);
  std::vector<Document> popped(first, first + static_cast<ptrdiff_t>(count));
  head_ += count;
  tokens_ -= SumOfLengths(popped);
  // Moving what is left is paid for by the pops that made the gap.
  if (head_ >= documents_.size() - head_) {
    documents_.erase(documents_.begin(),
                     documents_.begin() + static_cast<ptrdiff_t>(head_));
    head_ = 0;
  }
  return popped;
}

void DocumentFifo::DropBack(size_t count) {
  tokens_ -= SumOfLengths(view().last(count));
  documents_.resize(documents_.size() - count);
}

void DocumentFifo::EraseIf(absl::FunctionRef<bool(const Document&)> goes) {
  const auto first = documents_.begin() + static_cast<ptrdiff_t>(head_);
  documents_.erase(std::remove_if(first, documents_.end(), goes), documents_.end());
  tokens_ = SumOfLengths(view());
}

bool operator==(const DocumentFifo& a, const DocumentFifo& b) {
  return std::ranges::equal(a.view(), b.view());
}

}  // namespace evenpack
