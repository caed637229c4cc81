// A number in shared memory that only grows, and that processes wait for.
#ifndef EVENPACK_GPU_WORKER_ARENA_TIMELINE_H_
#define EVENPACK_GPU_WORKER_ARENA_TIMELINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace evenpack::worker {

// What a timeline semaphore is to a GPU. Memory that is all 0 is one at 0. One process
// advances it; its waiters may be in any that maps the memory. A process that writes
// other things into it has others wait too long or too short, and no worse.
struct alignas(64) Timeline {
  std::atomic<uint64_t> value;
  // Changes with each wake-up; waiters sleep on it.
  std::atomic<uint32_t> wakes;
  std::atomic<uint32_t> waiters;
};
static_assert(sizeof(Timeline) == 64 && std::atomic<uint64_t>::is_always_lock_free);

// `value` must not be below the present one. What was written before is seen by those
// who see the value.
void Advance(Timeline& timeline, uint64_t value);

// Has waiters ask `give_up` again.
void WakeWaiters(Timeline& timeline);

// True once the timeline has reached `value`; false where it has not and `give_up` says
// so, which is asked before it sleeps, and then at each wake-up and every tenth of a
// second. It looks for `spin` before it sleeps: a wake-up costs some microseconds.
bool AwaitValue(Timeline& timeline, uint64_t value,
                const std::function<bool()>& give_up,
                std::chrono::nanoseconds spin = std::chrono::microseconds(50));

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_TIMELINE_H_
