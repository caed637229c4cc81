#include "server/core/packing/local_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_contents.h"

namespace evenpack {
namespace {

// Light micro-batches that a document of the heaviest one is offered to.
constexpr size_t kReceivers = 4;
// The search ends where the heaviest micro-batch is within this part of the bound.
constexpr int64_t kNearness = 16'384;

class Search {
 public:
  Search(const WorkList& work_list, size_t micro_batches, const Capacity& capacity,
         const LeaningWorkload& workload, std::vector<uint32_t>& bins)
      : work_list_(work_list),
        capacity_(capacity),
        workload_(workload),
        bins_(bins),
        contents_(
            ContentsOf(work_list, bins, micro_batches, capacity.padding, workload)),
        order_(micro_batches) {
    int64_t total = 0;
    for (BinContents& bin : contents_) {
      total += bin.load_ns;
      // Documents that are due come first in the work list; here length alone counts.
      std::stable_sort(bin.documents.begin(), bin.documents.end(),
                       [this](uint32_t a, uint32_t b) {
                         return work_list_[a]->length > work_list_[b]->length;
                       });
      if (bin.documents.empty()) continue;
      const uint32_t longest = bin.documents.front();
      bound_ = std::max(bound_, AttentionOf(longest) + LinearOf(SizeOf(longest)));
    }
    bound_ = std::max(bound_, total / static_cast<int64_t>(micro_batches));
    bound_ += bound_ / kNearness;
  }

  uint64_t Run(uint64_t max_operations) {
    while (operations_ < max_operations && contents_.size() > 1) {
      const size_t heaviest = Heaviest();
      if (contents_[heaviest].load_ns <= bound_) break;
      const Exchange best = BestExchange(heaviest, max_operations);
      if (best.load_ns >= contents_[heaviest].load_ns) break;
      Apply(heaviest, best);
    }
    return operations_;
  }

 private:
  static constexpr size_t kNothing = std::numeric_limits<size_t>::max();

  // Places within the two micro-batches' lists; `back` is kNothing for a move.
  struct Exchange {
    // Of the heavier of the two afterwards.
    int64_t load_ns = std::numeric_limits<int64_t>::max();
    size_t receiver = 0;
    size_t out = 0;
    size_t back = kNothing;
  };

  int64_t AttentionOf(uint32_t document) const {
    return workload_.AttentionNs(work_list_[document]->length);
  }
  int64_t SizeOf(uint32_t document) const {
    return static_cast<int64_t>(
        PaddedLength(capacity_.padding, work_list_[document]->length));
  }
  int64_t LinearOf(int64_t length) const {
    return workload_.LinearNs(static_cast<uint64_t>(length));
  }

  size_t Heaviest() const {
    const auto heaviest =
        std::max_element(contents_.begin(), contents_.end(),
                         [](const BinContents& a, const BinContents& b) {
                           return a.load_ns < b.load_ns;
                         });
    return static_cast<size_t>(heaviest - contents_.begin());
  }

  // The lightest micro-batches first, as many as are offered documents.
  size_t OrderReceivers() {
    std::iota(order_.begin(), order_.end(), size_t{0});
    const size_t count = std::min(kReceivers, order_.size() - 1);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(count),
                      order_.end(), [this](size_t a, size_t b) {
                        const int64_t first = contents_[a].load_ns;
                        const int64_t second = contents_[b].load_ns;
                        return first != second ? first < second : a < b;
                      });
    return count;
  }

  Exchange BestExchange(size_t heaviest, uint64_t max_operations) {
    const size_t receivers = OrderReceivers();
    const std::vector<uint32_t>& documents = contents_[heaviest].documents;
    Exchange best;
    for (size_t out = 0; out < documents.size(); ++out) {
      // Documents of one length do the same.
      if (out > 0 && work_list_[documents[out]]->length ==
                         work_list_[documents[out - 1]]->length) {
        continue;
      }
      for (size_t r = 0; r < receivers; ++r) {
        if (++operations_ > max_operations) return best;
        Consider(heaviest, order_[r], out, best);
      }
    }
    return best;
  }

  // A move of the document, and the swaps with the two documents whose workloads are
  // nearest to what would level the two micro-batches.
  void Consider(size_t heaviest, size_t receiver, size_t out, Exchange& best) const {
    if (receiver == heaviest) return;
    Offer(heaviest, {0, receiver, out, kNothing}, best);
    const BinContents& light = contents_[receiver];
    const uint32_t given = contents_[heaviest].documents[out];
    const int64_t gap = contents_[heaviest].load_ns - light.load_ns;
    const int64_t wanted = AttentionOf(given) + LinearOf(SizeOf(given)) - gap / 2;
    if (wanted <= 0) return;
    const auto next = std::partition_point(
        light.documents.begin(), light.documents.end(), [&](uint32_t document) {
          return AttentionOf(document) + LinearOf(SizeOf(document)) > wanted;
        });
    const auto place = static_cast<size_t>(next - light.documents.begin());
    if (place < light.documents.size())
      Offer(heaviest, {0, receiver, out, place}, best);
    if (place > 0) Offer(heaviest, {0, receiver, out, place - 1}, best);
  }

  void Offer(size_t heaviest, Exchange exchange, Exchange& best) const {
    const BinContents& heavy = contents_[heaviest];
    const BinContents& light = contents_[exchange.receiver];
    int64_t size = SizeOf(heavy.documents[exchange.out]);
    int64_t attention = AttentionOf(heavy.documents[exchange.out]);
    if (exchange.back != kNothing) {
      size -= SizeOf(light.documents[exchange.back]);
      attention -= AttentionOf(light.documents[exchange.back]);
    } else if (light.documents.size() >= capacity_.documents) {
      return;
    }
    const int64_t most = capacity_.tokens;
    if (light.length + size > most || heavy.length - size > most) return;
    exchange.load_ns =
        std::max(light.attention_ns + attention + LinearOf(light.length + size),
                 heavy.attention_ns - attention + LinearOf(heavy.length - size));
    if (exchange.load_ns < best.load_ns) best = exchange;
  }

  void Apply(size_t heaviest, const Exchange& exchange) {
    BinContents& heavy = contents_[heaviest];
    BinContents& light = contents_[exchange.receiver];
    const uint32_t out = heavy.documents[exchange.out];
    heavy.documents.erase(heavy.documents.begin() +
                          static_cast<ptrdiff_t>(exchange.out));
    if (exchange.back != kNothing) {
      const uint32_t back = light.documents[exchange.back];
      light.documents.erase(light.documents.begin() +
                            static_cast<ptrdiff_t>(exchange.back));
      Add(back, heaviest);
      Take(back, exchange.receiver);
    }
    Add(out, exchange.receiver);
    Take(out, heaviest);
  }

  void Add(uint32_t document, size_t bin) {
    BinContents& contents = contents_[bin];
    const auto place = std::partition_point(
        contents.documents.begin(), contents.documents.end(), [&](uint32_t other) {
          return work_list_[other]->length > work_list_[document]->length;
        });
    contents.documents.insert(place, document);
    contents.attention_ns += AttentionOf(document);
    contents.length += SizeOf(document);
    contents.load_ns = contents.attention_ns + LinearOf(contents.length);
    bins_[document] = static_cast<uint32_t>(bin);
  }

  // Of the figures of a micro-batch whose list no longer has the document.
  void Take(uint32_t document, size_t bin) {
    BinContents& contents = contents_[bin];
    contents.attention_ns -= AttentionOf(document);
    contents.length -= SizeOf(document);
    contents.load_ns = contents.attention_ns + LinearOf(contents.length);
  }

  const WorkList& work_list_;
  const Capacity& capacity_;
  const LeaningWorkload workload_;
  std::vector<uint32_t>& bins_;
  std::vector<BinContents> contents_;
  std::vector<size_t> order_;
  // What the heaviest micro-batch may weigh for the search to end.
  int64_t bound_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace

uint64_t ImproveByLocalSearch(const WorkList& work_list, size_t micro_batches,
                              const Capacity& capacity, const LeaningWorkload& workload,
                              uint64_t max_operations, std::vector<uint32_t>& bins) {
  return Search(work_list, micro_batches, capacity, workload, bins).Run(max_operations);
}

}  // namespace evenpack
