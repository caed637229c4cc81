// What a device's stream is made to wait for.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_STREAM_GATE_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_STREAM_GATE_H_

#include <atomic>

#include "gpu_worker/cuda/cuda_context.h"

namespace evenpack::testing {

// Holds a stream until it is opened.
class StreamGate {
 public:
  // It must outlive what the stream does.
  void Close(const worker::CudaContext& context, worker::cuda::Stream stream) {
    const worker::CurrentContext current(context);
    context.functions().cuLaunchHostFunc(
        stream, [](void* gate) { static_cast<StreamGate*>(gate)->open_.wait(false); },
        this);
  }
  void Open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_ = false;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_STREAM_GATE_H_
