// Which rounds of a long test the sanitizers' builds leave out.
#ifndef EVENPACK_TESTS_TESTING_SPARED_ROUNDS_H_
#define EVENPACK_TESTS_TESTING_SPARED_ROUNDS_H_

#include <cstdint>

namespace evenpack::testing {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

// Three rounds of four under a sanitizer, and none elsewhere: of rounds that take the
// same paths with other values, which make a test long for the sake of its results. Not
// for tests of what is computed in memory that a caller gives.
constexpr bool IsSpared(uint64_t round) { return kIsSanitized && round % 4 != 0; }

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_SPARED_ROUNDS_H_
