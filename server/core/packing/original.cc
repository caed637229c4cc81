#include "server/core/packing/original.h"

#include <algorithm>
#include <cstdint>

#include "server/core/packing/assignment.h"

namespace evenpack {
namespace {

// Fills micro-batches one after another; `at` is the one being filled.
class SequentialFill {
 public:
  SequentialFill(const OriginalOptions& options, Packing& packing)
      : options_(options), packing_(packing) {
    packing_.micro_batches.resize(options.micro_batches);
    Open();
  }

  void Add(const Document* given) {
    Document document = *given;
    while (!full() && SizeOf(document) > room_) {
      if (options_.split_documents && room_ > 0) {
        Append(CutFront(document, static_cast<uint32_t>(room_)));
      } else if (documents_left_ == options_.capacity.documents) {
        break;  // longer than the capacity: alone in a micro-batch
      }
      ++at_;
      Open();
    }
    if (!full()) {
      Append(document);
    } else if (document.offset == given->offset) {
      packing_.left_over.push_back(given);
    } else {
      packing_.rest = document;
    }
  }

 private:
  bool full() const { return at_ == packing_.micro_batches.size(); }
  uint64_t SizeOf(const Document& document) const {
    return PaddedLength(options_.capacity.padding, document.length);
  }
  void Open() {
    room_ = options_.capacity.tokens;
    documents_left_ = options_.capacity.documents;
  }
  void Append(const Document& document) {
    packing_.micro_batches[at_].documents.push_back(document);
    packing_.micro_batches[at_].tokens += document.length;
    room_ -= std::min(SizeOf(document), room_);
    if (--documents_left_ == 0) room_ = 0;
  }

  const OriginalOptions& options_;
  Packing& packing_;
  size_t at_ = 0;
  // Tokens of padded documents that still fit: a multiple of what documents are padded
  // to, so that one that is cut there fits.
  uint64_t room_ = 0;
  uint32_t documents_left_ = 0;
};

}  // namespace

Packing PackOriginal(const WorkList& work_list, const OriginalOptions& options,
                     const WorkloadTable& workload) {
  Packing packing;
  SequentialFill fill(options, packing);
  for (const Document* document : work_list) fill.Add(document);
  for (MicroBatch& micro_batch : packing.micro_batches) {
    Complete(options.capacity.padding, workload, micro_batch);
  }
  return packing;
}

std::vector<size_t> OriginalEnds(std::span<const uint32_t> lengths,
                                 size_t micro_batches, uint32_t window) {
  std::vector<size_t> ends;
  ends.reserve(micro_batches);
  size_t end = 0;
  while (ends.size() < micro_batches) {
    uint64_t tokens = 0;
    const size_t begin = end;
    // The first fits alone, whatever its length.
    for (; end < lengths.size(); ++end) {
      tokens += lengths[end];
      if (tokens > window && end > begin) break;
    }
    ends.push_back(end);
  }
  return ends;
}

}  // namespace evenpack
