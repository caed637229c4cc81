// A state's bytes around a body that comes from anywhere: a fuzzer can't guess the
// checksum, and seldom comes upon a version that is read.
#ifndef EVENPACK_TESTS_FUZZ_SEALED_STATE_H_
#define EVENPACK_TESTS_FUZZ_SEALED_STATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/core/engine/state_codec.h"

namespace evenpack::fuzz {

// Magic and version before it, the right digest behind it.
std::string Sealed(std::string_view body, uint32_t version = kStateFormatVersion);

// Magic and version of what EncodeState wrote, now or before.
std::string_view HeaderOf(std::string_view state);

// The body of what EncodeState wrote.
std::string_view BodyOf(std::string_view state);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_SEALED_STATE_H_
