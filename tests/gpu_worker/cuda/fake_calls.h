// What a call of the double is handed, and what it needs before it may do anything.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CALLS_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CALLS_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/cuda/cuda_abi.h"
#include "tests/gpu_worker/cuda/fake_state.h"
#include "tests/gpu_worker/cuda/fake_stream.h"

namespace evenpack::worker::cuda {

// Both live as long as their handles.
struct StreamObject : evenpack::testing::FakeStream {};
struct EventObject {
  // Null before it is recorded, which is as good as reached.
  std::shared_ptr<evenpack::testing::FakePoint> point;
  bool is_timed = false;

  bool IsReached() const { return point == nullptr || point->IsReached(); }
};

}  // namespace evenpack::worker::cuda

namespace evenpack::testing {

inline FakeState& State() { return FakeState::Get(); }

struct Need {
  worker::cuda::Result result = worker::cuda::kSuccess;

  bool IsMet() const { return result == worker::cuda::kSuccess; }
};

// Of this thread, the last one on top.
inline std::vector<worker::cuda::Context>& CurrentContexts() {
  thread_local std::vector<worker::cuda::Context> stack;
  return stack;
}

inline Need NeedContext(const std::string& call) {
  if (const Need failed = {State().failure()}; !failed.IsMet()) return failed;
  if (CurrentContexts().empty()) {
    State().Note(call + ": no context is current");
    return {worker::cuda::kInvalidContext};
  }
  return {State().Check("context", CurrentContexts().back(), call)
              ? worker::cuda::kSuccess
              : worker::cuda::kInvalidContext};
}

// `kind` as FakeState::Add has it.
inline Need NeedHandle(const std::string& kind, const void* handle,
                       const std::string& call) {
  const Need need = NeedContext(call);
  if (!need.IsMet()) return need;
  return {State().Check(kind, handle, call) ? worker::cuda::kSuccess
                                            : worker::cuda::kInvalidHandle};
}
inline Need NeedStream(worker::cuda::Stream stream, const std::string& call) {
  return NeedHandle("stream", stream, call);
}
inline Need NeedEvent(worker::cuda::Event event, const std::string& call) {
  return NeedHandle("event", event, call);
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CALLS_H_
