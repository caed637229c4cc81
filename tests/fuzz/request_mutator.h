// Changes lists of requests so that they remain lists of requests.
#ifndef EVENPACK_TESTS_FUZZ_REQUEST_MUTATOR_H_
#define EVENPACK_TESTS_FUZZ_REQUEST_MUTATOR_H_

#include <cstddef>
#include <cstdint>

namespace evenpack::fuzz {

// As LLVMFuzzerCustomMutator.
size_t MutateRequests(uint8_t* data, size_t size, size_t max_size, uint32_t seed);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_REQUEST_MUTATOR_H_
