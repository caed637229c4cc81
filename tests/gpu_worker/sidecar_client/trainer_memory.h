// An arena's tensors as a trainer of the tests reads and writes them.
#ifndef EVENPACK_TESTS_GPU_WORKER_SIDECAR_CLIENT_TRAINER_MEMORY_H_
#define EVENPACK_TESTS_GPU_WORKER_SIDECAR_CLIENT_TRAINER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/sidecar_client/trainer_streams.h"

namespace evenpack::testing {

// Not thread-safe.
class TrainerMemory {
 public:
  virtual ~TrainerMemory() = default;
  // `from` must stay until Finish().
  virtual absl::Status Write(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Read(void* to, const void* from, size_t bytes) = 0;
  // What has been written so far is there once the trainer's timeline has this value.
  virtual absl::StatusOr<uint64_t> Ready() = 0;
  // What is read from now on is what the submission has left.
  virtual absl::Status Follow(uint64_t number) = 0;
  // Returns once all is read and written.
  virtual absl::Status Finish() = 0;
};

// Of the process.
class HostTrainerMemory final : public TrainerMemory {
 public:
  absl::Status Write(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  absl::Status Read(void* to, const void* from, size_t bytes) override {
    return Write(to, from, bytes);
  }
  absl::StatusOr<uint64_t> Ready() override { return 0; }
  absl::Status Follow(uint64_t) override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }
};

// Of a CUDA device, in the order of a stream.
class CudaTrainerMemory final : public TrainerMemory {
 public:
  static absl::StatusOr<std::unique_ptr<TrainerMemory>> Open(
      std::shared_ptr<const worker::CudaDriver> driver, worker::SidecarLink& link) {
    auto context =
        worker::CudaContext::Open(std::move(driver), link.arena().header().device);
    if (!context.ok()) return context.status();
    auto stream =
        worker::CudaStream::Create(*context, worker::CudaStream::Priority::kLeast);
    if (!stream.ok()) return stream.status();
    auto streams = worker::TrainerStreams::Create(link, *context);
    if (!streams.ok()) return streams.status();
    return std::unique_ptr<TrainerMemory>(new CudaTrainerMemory(
        *std::move(context), *std::move(streams), *std::move(stream)));
  }
  ~CudaTrainerMemory() override { Finish().IgnoreError(); }
  CudaTrainerMemory(const CudaTrainerMemory&) = delete;
  CudaTrainerMemory& operator=(const CudaTrainerMemory&) = delete;

  absl::Status Write(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    const worker::CurrentContext current(*context_);
    return context_->Check(
        context_->functions().cuMemcpyHtoDAsync_v2(At(to), from, bytes, Stream()),
        "to write tensors");
  }
  absl::Status Read(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    const worker::CurrentContext current(*context_);
    return context_->Check(
        context_->functions().cuMemcpyDtoHAsync_v2(to, At(from), bytes, Stream()),
        "to read tensors");
  }
  absl::StatusOr<uint64_t> Ready() override {
    absl::Status status = streams_->SignalReadyAfter(Stream(), ++ready_);
    if (!status.ok()) return status;
    return ready_;
  }
  absl::Status Follow(uint64_t number) override {
    return streams_->Precede(number, Stream());
  }
  absl::Status Finish() override { return stream_->Synchronize(); }

 private:
  CudaTrainerMemory(std::shared_ptr<const worker::CudaContext> context,
                    std::unique_ptr<worker::TrainerStreams> streams,
                    std::unique_ptr<worker::CudaStream> stream)
      : context_(std::move(context)),
        streams_(std::move(streams)),
        stream_(std::move(stream)) {}

  static worker::cuda::DevicePointer At(const void* data) {
    return reinterpret_cast<worker::cuda::DevicePointer>(data);
  }
  worker::cuda::Stream Stream() const { return stream_->handle(); }

  const std::shared_ptr<const worker::CudaContext> context_;
  const std::unique_ptr<worker::TrainerStreams> streams_;
  const std::unique_ptr<worker::CudaStream> stream_;
  uint64_t ready_ = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_SIDECAR_CLIENT_TRAINER_MEMORY_H_
