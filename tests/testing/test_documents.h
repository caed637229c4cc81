// Documents and costs for tests.
#ifndef EVENPACK_TESTS_TESTING_TEST_DOCUMENTS_H_
#define EVENPACK_TESTS_TESTING_TEST_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/cost/workload_table.h"
#include "server/core/document/document.h"
#include "server/core/packing/capacity.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/work_list.h"

namespace evenpack::testing {

// Whole documents of stream 0 with the given lengths, numbered from 0.
std::vector<Document> MakeDocuments(const std::vector<uint32_t>& lengths);

std::vector<Document> LongestFirst(std::vector<Document> documents);

std::vector<uint32_t> LengthsOf(const std::vector<Document>& documents);
std::vector<uint32_t> LengthsOf(const WorkList& documents);
// Per micro-batch, the lengths in order.
std::vector<std::vector<uint32_t>> LengthsOf(const Packing& packing);

// W(d) = d^2/crossover + d, times 1,000 ns.
WorkloadTable QuadraticWorkload(uint64_t crossover, uint32_t max_tokens,
                                uint32_t micro_batches = 64);

// What a micro-batch of up to `limit` tokens may hold with and without padding of
// documents and a bound on their number.
std::vector<Capacity> Capacities(uint32_t limit);

// Uniform in [least, most], the same numbers with any standard library.
uint32_t Draw(std::mt19937_64& random, uint32_t least, uint32_t most);

// Many short documents and a heavy tail up to `longest`.
std::vector<uint32_t> SkewedLengths(uint64_t seed, size_t count, uint32_t longest);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_TEST_DOCUMENTS_H_
