// What packing could reach that knows the whole stream: documents are moved between the
// steps of a finished run, each within its bound on delay.
#ifndef EVENPACK_TESTS_BENCH_BALANCE_OFFLINE_SEARCH_H_
#define EVENPACK_TESTS_BENCH_BALANCE_OFFLINE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/cost/workload_table.h"

namespace evenpack {

// A document, and the steps it may be in: its batch is admitted by the first of them,
// and it has waited its bound in the last.
struct PlacedDocument {
  uint32_t length = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
  // Step times N plus the micro-batch's number.
  uint32_t micro_batch = 0;
};

struct OfflineTerms {
  // N, and S_max in tokens.
  size_t micro_batches = 1;
  uint32_t max_length = 1;
  size_t steps = 0;
};

// Simulated annealing of the sum over steps of the heaviest micro-batch. An operation
// is a document that moves, two that change places, two micro-batches of different
// steps that do, or now and then two steps whose documents are dealt out anew. Four
// rounds, each from the best placement that an earlier one ended with. No exchange
// breaks a document's bounds or S_max. The same seed gives the same result with one
// compiler. Not thread-safe.
class OfflineSearch {
 public:
  OfflineSearch(std::vector<PlacedDocument> documents, const OfflineTerms& terms,
                const WorkloadTable& workload, uint64_t seed);

  // Ends with the best placement of a round's end, or the one it began with.
  void Run(uint64_t operations);

  // Of the placement as it is, computed from nothing but it.
  int64_t SumOfHeaviest() const;
  // Whether every document is within its steps, and no micro-batch over S_max.
  bool IsWithinBounds() const;
  const std::vector<PlacedDocument>& documents() const { return documents_; }

 private:
  struct Bin {
    std::vector<uint32_t> documents;
    int64_t attention_ns = 0;
    uint64_t tokens = 0;
  };

  uint64_t Draw(uint64_t bound) { return generator_() % bound; }
  size_t StepOf(size_t bin) const { return bin / terms_.micro_batches; }
  int64_t LoadOf(const Bin& bin) const;
  int64_t HeaviestOf(size_t step) const;
  bool MayBeIn(uint32_t document, size_t step) const;
  bool MayBeIn(const Bin& bin, size_t step) const;
  bool Accepts(int64_t change);

  void Add(uint32_t document, size_t bin);
  void Remove(uint32_t document);
  void SetLoad(size_t bin) { loads_[bin] = LoadOf(bins_[bin]); }
  void Rebuild();

  // The heaviest one of a random step, or any.
  size_t DrawBin();
  // A long one more often.
  uint32_t DrawDocument(const Bin& bin);
  size_t DrawOtherStep(size_t step);

  void TryMove();
  void TrySwap();
  void TrySwapBins();
  void TryDealAnew();
  // Of these, one; the index within a round says which are dealt anew.
  void TryOne(uint64_t index);
  void Deal(std::vector<uint32_t> pool, size_t a, size_t b);
  size_t BestBin(uint32_t document, bool in_a, bool in_b, size_t a, size_t b) const;
  // Of a change that touched these two bins.
  template <typename Undo>
  void KeepOr(int64_t before, size_t bin, size_t other, Undo undo);

  const OfflineTerms terms_;
  const WorkloadTable& workload_;
  std::mt19937_64 generator_;
  std::vector<PlacedDocument> documents_;
  std::vector<int64_t> attention_ns_;
  // Where in its bin each document is.
  std::vector<uint32_t> places_;
  std::vector<Bin> bins_;
  std::vector<int64_t> loads_;
  int64_t energy_ = 0;
  double temperature_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_TESTS_BENCH_BALANCE_OFFLINE_SEARCH_H_
