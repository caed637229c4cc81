// Names that processes have for each other.
#ifndef EVENPACK_SERVER_RUNTIME_UNIQUE_NAME_H_
#define EVENPACK_SERVER_RUNTIME_UNIQUE_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace evenpack {

// 64 bits that the operating system draws: no two draws are alike.
uint64_t DrawNumber();

// "KIND-HOST-PROCESS-DIGITS", for whoever looks and unlike any other name: containers
// may share a host's name, and have processes of the same number. At most 256 bytes
// where `kind` has at most 16.
std::string UniqueName(absl::string_view kind);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_UNIQUE_NAME_H_
