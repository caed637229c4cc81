// The engine for the processor as one of a device: it computes in the order of a
// stream.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_STREAMED_ATTENTION_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_STREAMED_ATTENTION_H_

#include <functional>
#include <memory>
#include <utility>

#include "gpu_worker/attention/cpu_attention.h"
#include "tests/gpu_worker/cuda/fake_device.h"

namespace evenpack::testing {

// The tasks of a call must stay until the stream has been synchronised; so must it.
class StreamedAttention final : public worker::AttentionEngine {
 public:
  explicit StreamedAttention(const FakeDevice& device) : device_(device) {}

  absl::Status Forward(const worker::AttentionCall& call,
                       const worker::ForwardResult& result) override {
    return Put([this, call, result] { return engine_.Forward(call, result); });
  }
  absl::Status Backward(const worker::AttentionCall& call,
                        const worker::BackwardInput& input,
                        const worker::BackwardResult& result) override {
    return Put(
        [this, call, input, result] { return engine_.Backward(call, input, result); });
  }

 private:
  using Work = std::function<absl::Status()>;

  absl::Status Put(Work work) {
    const worker::CurrentContext current(*device_.context());
    auto put = std::make_unique<Work>(std::move(work));
    return device_.context()->Check(
        device_.context()->functions().cuLaunchHostFunc(
            device_.compute(),
            [](void* given) {
              const std::unique_ptr<Work> taken(static_cast<Work*>(given));
              EXPECT_TRUE((*taken)().ok());
            },
            put.release()),
        "to compute attention");
  }

  const FakeDevice& device_;
  worker::CpuAttention engine_{1};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_STREAMED_ATTENTION_H_
