// Groups of which one rank alone is there, as what others do would take the device's
// time.
#ifndef EVENPACK_TESTS_BENCH_STAND_IN_GROUP_H_
#define EVENPACK_TESTS_BENCH_STAND_IN_GROUP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/cudnn/cuda_rank.h"

namespace evenpack::worker {

// What other ranks would send is there. Not thread-safe.
class NoExchange final : public Communicator {
 public:
  NoExchange(uint32_t rank, uint32_t size) : rank_(rank), size_(size) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override;
  void Abort(const absl::Status& reason) override;

 private:
  const uint32_t rank_;
  const uint32_t size_;
};

// What a rank receives comes from a buffer of the device, at a network's speed. Not
// thread-safe.
class PacedExchange final : public Communicator {
 public:
  // `source`: has as many bytes as the rank receives. The rank must outlive it. Errors
  // of the device, and of RowKernels::Load.
  static absl::StatusOr<std::unique_ptr<PacedExchange>> Open(
      CudaRank& place, uint32_t rank, uint32_t size, const void* source,
      double bytes_per_second, std::span<const unsigned char> image = RowKernelImage());

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override;
  void Abort(const absl::Status& reason) override;

 private:
  PacedExchange(CudaRank& place, uint32_t rank, uint32_t size, const void* source,
                double bytes_per_second)
      : place_(place),
        rank_(rank),
        size_(size),
        source_(source),
        bytes_per_second_(bytes_per_second),
        order_(place.where().context) {}

  // Bytes that are received.
  absl::StatusOr<uint64_t> Copy(const Exchange& exchange);
  absl::StatusOr<std::unique_ptr<CudaEvent>> Receive(const Exchange& exchange);

  CudaRank& place_;
  const uint32_t rank_;
  const uint32_t size_;
  const void* const source_;
  const double bytes_per_second_;
  std::unique_ptr<RowKernels> kernels_;
  std::unique_ptr<CudaStream> stream_;
  StreamOrder order_;
  std::unique_ptr<DeviceMemory> clock_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_TESTS_BENCH_STAND_IN_GROUP_H_
