#include "server/app/spare_memory.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>

// Of <gperftools/malloc_extension_c.h>, where the program has tcmalloc: this library is
// linked with and without it.
extern "C" {
[[gnu::weak]] int MallocExtension_GetNumericProperty(const char* property,
                                                     size_t* value);
[[gnu::weak]] void MallocExtension_ReleaseToSystem(size_t num_bytes);
}

namespace evenpack {
namespace {

bool HasTcmalloc() {
  return MallocExtension_GetNumericProperty != nullptr &&
         MallocExtension_ReleaseToSystem != nullptr;
}

// Threads that allocate wait for one of it at a time.
constexpr size_t kPart = 4 << 20;

// Of glibc, which counts as free what it has given back, too: how much that was.
std::atomic<size_t> given_back = 0;

}  // namespace

size_t SpareBytes() {
  if (!HasTcmalloc()) {
    const size_t free = mallinfo2().fordblks;
    return free - std::min(free, given_back.load());
  }
  size_t bytes = 0;
  MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &bytes);
  return bytes;
}

void GiveBackSpare(size_t bytes) {
  if (!HasTcmalloc()) {
    // It takes no amount.
    malloc_trim(SparePace::kKept);
    given_back = mallinfo2().fordblks;
    return;
  }
  for (size_t given = 0; given < bytes; given += kPart) {
    MallocExtension_ReleaseToSystem(std::min(kPart, bytes - given));
  }
}

size_t SparePace::Next(size_t spare_bytes) {
  const size_t unused = std::min(last_, spare_bytes);
  const size_t give = unused > kKept ? std::min(unused - kKept, kMost) : size_t{0};
  last_ = spare_bytes - give;
  return give;
}

}  // namespace evenpack
