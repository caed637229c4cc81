// What the double of the driver keeps.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STATE_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "gpu_worker/cuda/cuda_abi.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// What lies where that a device may use. Thread-safe.
class FakeMemory {
 public:
  void SetCapacity(size_t bytes);
  size_t capacity();
  // Null where there is not enough.
  char* Take(size_t bytes);
  // In the order of a stream: poisoned and ready, then poisoned and gone.
  void Begin(char* data);
  void End(char* data);
  // What another has mapped, or is page-locked, ready; and what is so no more.
  void Place(char* data, size_t bytes);
  void Forget(char* data);
  bool Owns(const void* data, size_t bytes);
  bool IsTaken(const void* data);
  size_t pieces();

 private:
  struct Piece {
    size_t bytes = 0;
    bool in_use = false;
  };

  Mutex mutex_;
  size_t capacity_ EVENPACK_GUARDED_BY(mutex_) = size_t{1} << 30;
  size_t taken_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // By address.
  std::map<const char*, Piece> pieces_ EVENPACK_GUARDED_BY(mutex_);
};

// Thread-safe.
class FakeState {
 public:
  static FakeState& Get();

  FakeMemory& memory() { return memory_; }

  void Note(const std::string& misuse);
  std::string misuse();
  void Reset();

  // Nanoseconds, of the device.
  uint64_t time();
  void PassTime(uint64_t nanoseconds);

  int version();
  void SetVersion(int version);
  bool devices_are_connected();
  void ConnectDevices(bool connected);
  bool refuses_events();
  void RefuseEvents(bool refused);
  worker::cuda::Result failure();
  void Fail(worker::cuda::Result failure);

  // Handles that were given out; `kind`: "stream".
  void Add(const std::string& kind, const void* handle);
  // False, and notes it, where it is none.
  bool Check(const std::string& kind, const void* handle, const std::string& call);
  bool Remove(const std::string& kind, const void* handle, const std::string& call);
  size_t live();

 private:
  FakeMemory memory_;
  Mutex mutex_;
  uint64_t time_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int version_ EVENPACK_GUARDED_BY(mutex_) = 13000;
  bool devices_are_connected_ EVENPACK_GUARDED_BY(mutex_) = true;
  bool refuses_events_ EVENPACK_GUARDED_BY(mutex_) = false;
  worker::cuda::Result failure_ EVENPACK_GUARDED_BY(mutex_) = worker::cuda::kSuccess;
  std::string misuse_ EVENPACK_GUARDED_BY(mutex_);
  std::multiset<std::pair<std::string, const void*>> handles_
      EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STATE_H_
