#include "gpu_worker/nccl/nccl_communicator.h"

#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/nccl/exchange_plan.h"
#include "gpu_worker/nccl/nccl_watchdog.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {
namespace {

// What a device has been given of a transfer.
class OrderedTransfer final : public Transfer {
 public:
  // `under_way`: null where the device was given nothing.
  OrderedTransfer(NcclConnection& connection, cuda::Stream compute, absl::Status status,
                  std::shared_ptr<const UnderWay> under_way)
      : connection_(connection),
        compute_(compute),
        status_(std::move(status)),
        under_way_(std::move(under_way)) {}
  ~OrderedTransfer() override { Order(); }
  OrderedTransfer(const OrderedTransfer&) = delete;
  OrderedTransfer& operator=(const OrderedTransfer&) = delete;

  absl::Status Wait() override {
    Order();
    if (status_.ok()) status_ = connection_.Check();
    return status_;
  }

  absl::Status WaitForArrival() override {
    Order();
    // Also of a transfer that failed: nothing touches its memory after that.
    if (under_way_ != nullptr) Take(under_way_->done->Await());
    return Wait();
  }

 private:
  void Order() {
    if (ordered_ || under_way_ == nullptr) return;
    ordered_ = true;
    Take(under_way_->done->Precede(compute_));
  }
  void Take(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  NcclConnection& connection_;
  cuda::Stream compute_;
  absl::Status status_;
  const std::shared_ptr<const UnderWay> under_way_;
  bool ordered_ = false;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::unique_ptr<NcclConnection> connection, CudaWorkplace device,
                   std::unique_ptr<CudaStream> stream,
                   std::unique_ptr<RowKernels> kernels, const NcclTiming& timing)
      : connection_(std::move(connection)),
        device_(std::move(device)),
        stream_(std::move(stream)),
        kernels_(std::move(kernels)),
        order_(device_.context),
        watchdog_(*connection_, timing) {}
  ~NcclCommunicator() override {
    // The watchdog ends what would wait for ever; an error is as good an end.
    stream_->Synchronize().IgnoreError();
    connection_->Close();
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  uint32_t rank() const override { return connection_->seat().rank; }
  uint32_t size() const override { return connection_->seat().ranks; }

  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    std::shared_ptr<UnderWay> under_way;
    absl::Status status = Issue(exchange, under_way);
    // The peers' next exchange would be another one than this rank's.
    if (!status.ok()) connection_->Abort(status);
    return std::make_unique<OrderedTransfer>(*connection_, device_.compute,
                                             std::move(status), std::move(under_way));
  }

  absl::Status Settle() override {
    absl::Status status = stream_->Synchronize();
    return status.ok() ? connection_->Check() : status;
  }

  void Abort(const absl::Status& reason) override { connection_->Abort(reason); }
  void Leave(const absl::Status& reason) override {
    MutexLock lock(mutex_);
    left_ = reason;
  }

 private:
  absl::Status CheckThere() {
    MutexLock lock(mutex_);
    return left_.ok() ? connection_->Check() : left_;
  }
  // Sets `under_way` where memory of the exchange may be in use.
  absl::Status Issue(const Exchange& exchange, std::shared_ptr<UnderWay>& under_way) {
    const uint64_t number = next_++;
    absl::Status status = CheckThere();
    if (!status.ok()) return status;
    absl::StatusOr<CudaBuffer> staging =
        device_.memory->Take(StagingBytes(exchange), stream_->handle());
    if (!staging.ok()) return staging.status();
    const ExchangePlan plan = PlanExchange(exchange, staging->data());
    if (plan.sends.empty() && plan.receives.empty()) return status;
    absl::StatusOr<std::shared_ptr<UnderWay>> made = MakeUnderWay(number);
    if (!made.ok()) return made.status();
    status = order_.Order(device_.compute, stream_->handle());
    if (!status.ok()) return status;
    status = Carry(plan, **made);
    // Also after an error: it tells when the memory is no longer in use.
    const absl::Status recorded = (*made)->done->Record(stream_->handle());
    if (recorded.ok()) under_way = *made;
    if (status.ok()) status = recorded;
    if (status.ok()) watchdog_.Watch(*std::move(made));
    return status;
  }

  absl::StatusOr<std::shared_ptr<UnderWay>> MakeUnderWay(uint64_t number) {
    auto made = std::make_shared<UnderWay>();
    made->number = number;
    for (std::unique_ptr<CudaEvent>* event : {&made->begun, &made->done}) {
      absl::StatusOr<std::unique_ptr<CudaEvent>> created =
          CudaEvent::Create(device_.context);
      if (!created.ok()) return created.status();
      *event = *std::move(created);
    }
    return made;
  }

  absl::Status Carry(const ExchangePlan& plan, UnderWay& under_way) {
    absl::Status status = kernels_->CopyRows(plan.pack, stream_->handle());
    if (status.ok()) status = under_way.begun->Record(stream_->handle());
    if (status.ok()) status = connection_->Launch(plan, stream_->handle());
    return status.ok() ? kernels_->CopyRows(plan.unpack, stream_->handle()) : status;
  }

  const std::unique_ptr<NcclConnection> connection_;
  const CudaWorkplace device_;
  const std::unique_ptr<CudaStream> stream_;
  const std::unique_ptr<RowKernels> kernels_;
  StreamOrder order_;
  uint64_t next_ = 0;
  Mutex mutex_;
  // OK until then.
  absl::Status left_ EVENPACK_GUARDED_BY(mutex_);
  NcclWatchdog watchdog_;  // last, since it uses the connection
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> MakeNcclCommunicator(
    std::unique_ptr<NcclConnection> connection, const CudaWorkplace& device,
    const NcclTiming& timing, std::span<const unsigned char> kernels) {
  absl::StatusOr<std::unique_ptr<RowKernels>> loaded =
      RowKernels::Load(device.context, kernels);
  if (!loaded.ok()) return loaded.status();
  // So that its kernels start while the compute stream's fill the device.
  absl::StatusOr<std::unique_ptr<CudaStream>> stream =
      CudaStream::Create(device.context, CudaStream::Priority::kGreatest);
  if (!stream.ok()) return stream.status();
  return std::make_unique<NcclCommunicator>(
      std::move(connection), device, *std::move(stream), *std::move(loaded), timing);
}

}  // namespace evenpack::worker
