// A state's bytes around a body that comes from anywhere: a fuzzer can't guess the
// checksum, nor know the version.
#ifndef EVENPACK_TESTS_FUZZ_SEALED_STATE_H_
#define EVENPACK_TESTS_FUZZ_SEALED_STATE_H_

#include <string>
#include <string_view>

namespace evenpack::fuzz {

// Magic and present version before it, the right digest behind it.
std::string Sealed(std::string_view body);

// The body of what EncodeState wrote.
std::string_view BodyOf(std::string_view state);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_SEALED_STATE_H_
