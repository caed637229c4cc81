// What the double of NCCL is told by tests, and its handles.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_WORLD_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_WORLD_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/nccl/nccl_abi.h"
#include "server/runtime/mutex.h"
#include "tests/gpu_worker/nccl/fake_clique.h"

namespace evenpack::worker::nccl {

// Stays when it is over, so that its use is found.
struct CommunicatorObject {
  std::shared_ptr<evenpack::testing::FakeClique> clique;
  int rank = 0;
  // That was current when it was made.
  cuda::Context context = nullptr;
  // A call with it is under way.
  std::atomic<bool> busy = false;
  Mutex mutex;
  bool over EVENPACK_GUARDED_BY(mutex) = false;
  // Written under the mutex.
  std::atomic<bool> connected = false;
  bool finalized EVENPACK_GUARDED_BY(mutex) = false;
  // Answers still to be given that it is in progress, and what is done then.
  int polls EVENPACK_GUARDED_BY(mutex) = 0;
  std::function<Result()> then EVENPACK_GUARDED_BY(mutex);
  Result error EVENPACK_GUARDED_BY(mutex) = kSuccess;
  // Groups that are in a stream.
  std::atomic<int> in_streams = 0;
};

}  // namespace evenpack::worker::nccl

namespace evenpack::testing {

// Fields as fake_nccl.h has them. Thread-safe under its mutex.
struct FakeNcclWorld {
  Mutex mutex;
  int version EVENPACK_GUARDED_BY(mutex) = 22809;
  int polls EVENPACK_GUARDED_BY(mutex) = 0;
  bool tell_peers EVENPACK_GUARDED_BY(mutex) = false;
  bool aborts_are_held EVENPACK_GUARDED_BY(mutex) = false;
  bool waits_for_host EVENPACK_GUARDED_BY(mutex) = false;
  size_t ending EVENPACK_GUARDED_BY(mutex) = 0;
  size_t aborts EVENPACK_GUARDED_BY(mutex) = 0;
  unsigned ids EVENPACK_GUARDED_BY(mutex) = 0;
  std::map<int, worker::nccl::Result> failing EVENPACK_GUARDED_BY(mutex);
  std::map<int, bool> stalled EVENPACK_GUARDED_BY(mutex);
  std::map<std::string, std::shared_ptr<FakeClique>> cliques EVENPACK_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<worker::nccl::CommunicatorObject>> all
      EVENPACK_GUARDED_BY(mutex);
};

FakeNcclWorld& TheFakeNcclWorld();

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_WORLD_H_
