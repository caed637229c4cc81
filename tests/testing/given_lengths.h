// The document lengths that come with the project.
#ifndef EVENPACK_TESTS_TESTING_GIVEN_LENGTHS_H_
#define EVENPACK_TESTS_TESTING_GIVEN_LENGTHS_H_

#include <cstdint>
#include <vector>

namespace evenpack::testing {

// deploy/data/lengths/wlbllm.txt, in its order. Ends the program where it is missing.
const std::vector<uint32_t>& GivenLengths();

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_GIVEN_LENGTHS_H_
