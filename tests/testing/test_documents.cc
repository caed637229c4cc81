#include "tests/testing/test_documents.h"

#include <algorithm>

#include "server/core/cost/cost_spec.h"

namespace evenpack::testing {

std::vector<Document> MakeDocuments(const std::vector<uint32_t>& lengths) {
  std::vector<Document> documents(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    documents[i].sequence = i;
    documents[i].id = i;
    documents[i].order = i;
    documents[i].length = lengths[i];
    documents[i].document_length = lengths[i];
    documents[i].loss_tokens = lengths[i];
  }
  return documents;
}

std::vector<Document> LongestFirst(std::vector<Document> documents) {
  std::stable_sort(
      documents.begin(), documents.end(),
      [](const Document& a, const Document& b) { return a.length > b.length; });
  return documents;
}

std::vector<uint32_t> LengthsOf(const std::vector<Document>& documents) {
  std::vector<uint32_t> lengths;
  for (const Document& document : documents) lengths.push_back(document.length);
  return lengths;
}

std::vector<uint32_t> LengthsOf(const WorkList& documents) {
  std::vector<uint32_t> lengths;
  for (const Document* document : documents) lengths.push_back(document->length);
  return lengths;
}

std::vector<std::vector<uint32_t>> LengthsOf(const Packing& packing) {
  std::vector<std::vector<uint32_t>> lengths;
  for (const MicroBatch& micro_batch : packing.micro_batches) {
    lengths.push_back(LengthsOf(micro_batch.documents));
  }
  return lengths;
}

WorkloadTable QuadraticWorkload(uint64_t crossover, uint32_t max_tokens,
                                uint32_t micro_batches) {
  return ResolveWorkload(QuadraticCost{.crossover_tokens = crossover}, max_tokens,
                         micro_batches)
      .value();
}

std::vector<Capacity> Capacities(uint32_t limit) {
  std::vector<Capacity> capacities(4);
  for (size_t i = 0; i < capacities.size(); ++i) {
    if (i % 2 == 1) capacities[i].documents = 5;
    PaddingRule& padding = capacities[i].padding;
    if (i >= 2) padding.document_unit = padding.total_unit = 48;
    capacities[i].tokens = CapacityWithin(padding, limit);
  }
  return capacities;
}

uint32_t Draw(std::mt19937_64& random, uint32_t least, uint32_t most) {
  const uint64_t range = uint64_t{most} - least + 1;
  return least + static_cast<uint32_t>(random() % range);
}

std::vector<uint32_t> SkewedLengths(uint64_t seed, size_t count, uint32_t longest) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) {
    const uint32_t kind = Draw(random, 1, 100);
    const uint32_t most = kind <= 90   ? std::max(longest / 32, 1U)
                          : kind <= 98 ? std::max(longest / 4, 1U)
                                       : longest;
    length = Draw(random, 1, most);
  }
  return lengths;
}

}  // namespace evenpack::testing
