// Whether the system lets a program have its threads.
#ifndef EVENPACK_SERVER_RUNTIME_THREAD_CHECK_H_
#define EVENPACK_SERVER_RUNTIME_THREAD_CHECK_H_

#include <cstddef>

#include "absl/status/status.h"

namespace evenpack {

// RESOURCE_EXHAUSTED, with the system's reason and which limits there are, where so
// many more threads can't be there at once: gRPC ends a program, or has it wait for
// ever, that gets fewer than it needs. They are made, and are gone when it returns.
absl::Status CheckThreads(size_t count);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_THREAD_CHECK_H_
