#include "tests/bench/stand_in_group.h"

#include <chrono>
#include <vector>

#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/cuda/row_kernels.h"

namespace evenpack::worker {
namespace {

class Done final : public Transfer {
 public:
  absl::Status Wait() override { return absl::OkStatus(); }
};

class Arriving final : public Transfer {
 public:
  Arriving(absl::StatusOr<std::unique_ptr<CudaEvent>> done, cuda::Stream compute)
      : done_(std::move(done)), compute_(compute) {}
  ~Arriving() override { Order().IgnoreError(); }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;

  absl::Status Wait() override { return Order(); }

 private:
  absl::Status Order() const {
    return done_.ok() ? (*done_)->Precede(compute_) : done_.status();
  }

  const absl::StatusOr<std::unique_ptr<CudaEvent>> done_;
  cuda::Stream compute_;
};

}  // namespace

std::unique_ptr<Transfer> NoExchange::Start(const Exchange& /*exchange*/) {
  return std::make_unique<Done>();
}

void NoExchange::Abort(const absl::Status& /*reason*/) {}

absl::StatusOr<std::unique_ptr<PacedExchange>> PacedExchange::Open(
    CudaRank& place, uint32_t rank, uint32_t size, const void* source,
    double bytes_per_second, std::span<const unsigned char> image) {
  std::unique_ptr<PacedExchange> made(
      new PacedExchange(place, rank, size, source, bytes_per_second));
  const std::shared_ptr<const CudaContext>& context = place.where().context;
  absl::StatusOr<std::unique_ptr<RowKernels>> kernels =
      RowKernels::Load(context, image);
  if (!kernels.ok()) return kernels.status();
  made->kernels_ = *std::move(kernels);
  absl::StatusOr<std::unique_ptr<CudaStream>> stream =
      CudaStream::Create(context, CudaStream::Priority::kGreatest);
  if (!stream.ok()) return stream.status();
  made->stream_ = *std::move(stream);
  absl::StatusOr<std::unique_ptr<DeviceMemory>> clock =
      place.device().Allocate(sizeof(uint64_t));
  if (!clock.ok()) return clock.status();
  made->clock_ = *std::move(clock);
  return made;
}

std::unique_ptr<Transfer> PacedExchange::Start(const Exchange& exchange) {
  return std::make_unique<Arriving>(Receive(exchange), place_.where().compute);
}

void PacedExchange::Abort(const absl::Status& /*reason*/) {}

absl::StatusOr<std::unique_ptr<CudaEvent>> PacedExchange::Receive(
    const Exchange& exchange) {
  cuda::Stream stream = stream_->handle();
  auto* const clock = static_cast<uint64_t*>(clock_->data());
  absl::Status status = order_.Order(place_.where().compute, stream);
  if (status.ok()) status = kernels_->Pace(clock, {}, stream);
  if (!status.ok()) return status;
  const absl::StatusOr<uint64_t> bytes = Copy(exchange);
  if (!bytes.ok()) return bytes.status();
  const std::chrono::duration<double> takes(static_cast<double>(*bytes) /
                                            bytes_per_second_);
  status = kernels_->Pace(
      clock, std::chrono::duration_cast<std::chrono::nanoseconds>(takes), stream);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<CudaEvent>> done =
      CudaEvent::Create(place_.where().context);
  if (done.ok()) status = (*done)->Record(stream);
  if (!status.ok()) return status;
  return done;
}

absl::StatusOr<uint64_t> PacedExchange::Copy(const Exchange& exchange) {
  uint64_t bytes = 0;
  for (const std::vector<RowRange>& ranges : *exchange.receive_rows) {
    const std::vector<RowMove> moves = MovesOf({{0, RowsIn(ranges)}}, ranges);
    for (const ExchangedTensor& tensor : exchange.tensors) {
      std::vector<RowCopy> copies;
      AppendCopies({source_, exchange.row_bytes, tensor.receive, tensor.receive_stride},
                   moves, exchange.row_bytes, copies);
      absl::Status status = kernels_->CopyRows(copies, stream_->handle());
      if (!status.ok()) return status;
      bytes += RowsIn(ranges) * exchange.row_bytes;
    }
  }
  return bytes;
}

}  // namespace evenpack::worker
