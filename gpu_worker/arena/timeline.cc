#include "gpu_worker/arena/timeline.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace evenpack::worker {
namespace {

// How often a peer's death is looked for, which wakes nobody.
constexpr timespec kSlice{0, 100'000'000};
constexpr int kLooksBetweenClocks = 64;

// Not FUTEX_PRIVATE: waiters are in other processes.
void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value,
           const timespec* timeout) {
  syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

bool SpinFor(const Timeline& timeline, uint64_t value, std::chrono::nanoseconds spin) {
  const auto end = std::chrono::steady_clock::now() + spin;
  do {
    for (int look = 0; look < kLooksBetweenClocks; ++look) {
      if (timeline.value.load(std::memory_order_acquire) >= value) return true;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

void Advance(Timeline& timeline, uint64_t value) {
  // Ordered against the waiter's own: it counts itself, then looks at the value.
  timeline.value.store(value, std::memory_order_seq_cst);
  if (timeline.waiters.load(std::memory_order_seq_cst) != 0) WakeWaiters(timeline);
}

void WakeWaiters(Timeline& timeline) {
  timeline.wakes.fetch_add(1, std::memory_order_seq_cst);
  Futex(timeline.wakes, FUTEX_WAKE, INT_MAX, nullptr);
}

bool AwaitValue(Timeline& timeline, uint64_t value,
                const std::function<bool()>& give_up, std::chrono::nanoseconds spin) {
  if (SpinFor(timeline, value, spin)) return true;
  timeline.waiters.fetch_add(1, std::memory_order_seq_cst);
  bool reached = false;
  for (;;) {
    const uint32_t seen = timeline.wakes.load(std::memory_order_seq_cst);
    reached = timeline.value.load(std::memory_order_seq_cst) >= value;
    if (reached || give_up()) break;
    Futex(timeline.wakes, FUTEX_WAIT, seen, &kSlice);
  }
  timeline.waiters.fetch_sub(1, std::memory_order_seq_cst);
  // Whoever is gone may have advanced it before that.
  return reached || timeline.value.load(std::memory_order_seq_cst) >= value;
}

}  // namespace evenpack::worker
