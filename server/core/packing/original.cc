#include "server/core/packing/original.h"

#include "server/core/packing/assignment.h"

namespace evenpack {
namespace {

void Append(const Document& document, MicroBatch& micro_batch) {
  micro_batch.documents.push_back(document);
  micro_batch.tokens += document.length;
}

// Fills micro-batches one after another; `at` is the one being filled.
class SequentialFill {
 public:
  SequentialFill(const OriginalOptions& options, Packing& packing)
      : options_(options), packing_(packing) {
    packing_.micro_batches.resize(options.micro_batches);
  }

  void Add(const Document* given) {
    Document document = *given;
    while (!full() && tokens() + document.length > options_.window) {
      const auto room = static_cast<uint32_t>(
          tokens() < options_.window ? options_.window - tokens() : 0);
      if (options_.split_documents && room > 0) {
        Append(CutFront(document, room), packing_.micro_batches[at_]);
      } else if (tokens() == 0) {
        break;  // longer than the window: alone in a micro-batch
      }
      ++at_;
    }
    if (!full()) {
      Append(document, packing_.micro_batches[at_]);
    } else if (document.offset == given->offset) {
      packing_.left_over.push_back(given);
    } else {
      packing_.rest = document;
    }
  }

 private:
  bool full() const { return at_ == packing_.micro_batches.size(); }
  uint64_t tokens() const { return packing_.micro_batches[at_].tokens; }

  const OriginalOptions& options_;
  Packing& packing_;
  size_t at_ = 0;
};

}  // namespace

Packing PackOriginal(const WorkList& work_list, const OriginalOptions& options,
                     const WorkloadTable& workload) {
  Packing packing;
  SequentialFill fill(options, packing);
  for (const Document* document : work_list) fill.Add(document);
  for (MicroBatch& micro_batch : packing.micro_batches) {
    micro_batch.workload_ns = Workload(micro_batch, workload);
  }
  return packing;
}

}  // namespace evenpack
