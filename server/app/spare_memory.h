// Memory that was freed and that the allocator keeps, given back to the system.
#ifndef EVENPACK_SERVER_APP_SPARE_MEMORY_H_
#define EVENPACK_SERVER_APP_SPARE_MEMORY_H_

#include <chrono>
#include <cstddef>

namespace evenpack {

// What the allocator could give back: tcmalloc where the program has it, else glibc's.
// Thread-safe.
size_t SpareBytes();
// Gives back so many bytes or more, or what there is. Thread-safe; who allocates at the
// same time may wait for it, some milliseconds for each 100 MB.
void GiveBackSpare(size_t bytes);

// How much of it nobody will miss. Not thread-safe.
class SparePace {
 public:
  // What commits and messages come and go with.
  static constexpr size_t kKept = 32 << 20;
  // At a time.
  static constexpr size_t kMost = 64 << 20;
  // Between two looks.
  static constexpr std::chrono::milliseconds kInterval{500};

  // How much to give back now. What was needed since the last look, and is spare again,
  // will be needed again.
  size_t Next(size_t spare_bytes);

 private:
  size_t last_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_SPARE_MEMORY_H_
