#include "gpu_worker/cuda/device_group.h"

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "gpu_worker/communicator/exchange_board.h"
#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {
namespace {

using SharedEvent = std::shared_ptr<const CudaEvent>;

absl::StatusOr<SharedEvent> Recorded(const std::shared_ptr<const CudaContext>& context,
                                     cuda::Stream stream) {
  absl::StatusOr<std::unique_ptr<CudaEvent>> event = CudaEvent::Create(context);
  if (!event.ok()) return event.status();
  if (absl::Status status = (*event)->Record(stream); !status.ok()) return status;
  return SharedEvent(*std::move(event));
}

}  // namespace

// What exchanges on the board are ordered by, by rank and number. Thread-safe.
class DeviceGroup::Events {
 public:
  explicit Events(uint32_t ranks) : of_(ranks) {}

  // Before which the rank's tensors are not complete.
  void SetReady(uint32_t rank, uint64_t number, SharedEvent ready) {
    MutexLock lock(mutex_);
    of_[rank][number].ready = std::move(ready);
  }
  SharedEvent Ready(uint32_t rank, uint64_t number) const {
    MutexLock lock(mutex_);
    return of_[rank].at(number).ready;
  }
  // Until which they are read or written.
  void AddUse(uint32_t rank, uint64_t number, SharedEvent done) {
    MutexLock lock(mutex_);
    of_[rank][number].uses.push_back(std::move(done));
  }
  std::vector<SharedEvent> TakeUses(uint32_t rank, uint64_t number) {
    MutexLock lock(mutex_);
    std::vector<SharedEvent> uses = std::move(of_[rank][number].uses);
    of_[rank].erase(number);
    return uses;
  }

 private:
  struct Of {
    SharedEvent ready;
    std::vector<SharedEvent> uses;
  };

  mutable Mutex mutex_;
  std::vector<std::map<uint64_t, Of>> of_ EVENPACK_GUARDED_BY(mutex_);
};

class DeviceGroup::Member final : public Communicator {
 public:
  Member(DeviceGroup& group, uint32_t rank, CudaWorkplace seat,
         std::unique_ptr<RowKernels> kernels, std::unique_ptr<CudaStream> stream)
      : group_(group),
        rank_(rank),
        seat_(std::move(seat)),
        kernels_(std::move(kernels)),
        stream_(std::move(stream)) {}
  // An error is as good an end.
  ~Member() override { stream_->Synchronize().IgnoreError(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return group_.board_.ranks(); }

  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    const uint64_t number = next_++;
    absl::Status status = Post(number, exchange);
    const bool posted = status.ok();
    if (posted) {
      status = Receive(number, exchange);
      group_.board_.EndReceive(rank_, number);
    }
    if (!status.ok()) Abort(status);
    return std::make_unique<Ordered>(*this, number, posted, std::move(status));
  }

  absl::Status Settle() override {
    absl::Status status = stream_->Synchronize();
    return status.ok() ? group_.board_.reason() : status;
  }

  void Abort(const absl::Status& reason) override { group_.board_.Abort(reason); }

 private:
  class Ordered final : public Transfer {
   public:
    Ordered(Member& member, uint64_t number, bool posted, absl::Status status)
        : member_(member),
          number_(number),
          posted_(posted),
          status_(std::move(status)) {}
    ~Ordered() override { Wait().IgnoreError(); }
    Ordered(const Ordered&) = delete;
    Ordered& operator=(const Ordered&) = delete;

    absl::Status Wait() override {
      if (!std::exchange(posted_, false)) return status_;
      Take(member_.group_.board_.Finish(member_.rank_, number_));
      uses_ = member_.group_.events_->TakeUses(member_.rank_, number_);
      for (const SharedEvent& use : uses_) Take(use->Precede(member_.seat_.compute));
      return status_;
    }

    absl::Status WaitForArrival() override {
      Wait().IgnoreError();
      // Also of a transfer that failed: nothing touches its memory after that.
      for (const SharedEvent& use : uses_) Take(use->Await());
      return status_;
    }

   private:
    void Take(const absl::Status& status) {
      if (status_.ok()) status_ = status;
    }

    Member& member_;
    const uint64_t number_;
    bool posted_;
    absl::Status status_;
    std::vector<SharedEvent> uses_;
  };

  absl::Status Post(uint64_t number, const Exchange& exchange) {
    absl::StatusOr<SharedEvent> ready = Recorded(seat_.context, seat_.compute);
    if (!ready.ok()) return ready.status();
    if (absl::Status status = (*ready)->Precede(stream_->handle()); !status.ok()) {
      return status;
    }
    group_.events_->SetReady(rank_, number, *std::move(ready));
    group_.board_.Post(rank_, number, exchange);
    return absl::OkStatus();
  }

  absl::Status Receive(uint64_t number, const Exchange& to) {
    absl::StatusOr<CudaBuffer> clock = BeginPace();
    if (!clock.ok()) return clock.status();
    uint64_t bytes = 0;
    // Each rank begins with another peer.
    absl::Status status;
    for (uint32_t i = 1; i < size() && status.ok(); ++i) {
      const uint32_t peer = (rank_ + i) % size();
      const std::optional<Exchange> from =
          group_.board_.BeginRead(peer, number, rank_, to);
      if (!from.has_value()) {
        status = group_.board_.reason();
        break;
      }
      status = ReadFrom(peer, number, *from, to);
      group_.board_.EndRead(peer, number);
      bytes += RowsIn((*to.receive_rows)[peer]) * to.row_bytes * to.tensors.size();
    }
    if (status.ok()) status = EndPace(*clock, bytes);
    // Also after an error: it tells when the memory is no longer in use.
    const absl::StatusOr<SharedEvent> done = Recorded(seat_.context, stream_->handle());
    if (done.ok()) group_.events_->AddUse(rank_, number, *done);
    return status.ok() ? done.status() : status;
  }

  absl::Status ReadFrom(uint32_t peer, uint64_t number, const Exchange& from,
                        const Exchange& to) {
    const std::vector<RowMove> moves =
        MovesOf((*from.send_rows)[rank_], (*to.receive_rows)[peer]);
    if (moves.empty()) return absl::OkStatus();
    absl::Status status =
        group_.events_->Ready(peer, number)->Precede(stream_->handle());
    if (status.ok()) {
      status = kernels_->CopyRows(
          CopiesOf(from.tensors, to.tensors, moves, to.row_bytes), stream_->handle());
    }
    const absl::StatusOr<SharedEvent> done = Recorded(seat_.context, stream_->handle());
    if (done.ok()) group_.events_->AddUse(peer, number, *done);
    return status.ok() ? done.status() : status;
  }

  absl::StatusOr<CudaBuffer> BeginPace() {
    if (group_.options_.bytes_per_second <= 0) return CudaBuffer();
    absl::StatusOr<CudaBuffer> clock =
        seat_.memory->Take(sizeof(uint64_t), stream_->handle());
    if (!clock.ok()) return clock;
    absl::Status status =
        kernels_->Pace(static_cast<uint64_t*>(clock->data()), {}, stream_->handle());
    if (!status.ok()) return status;
    return clock;
  }

  absl::Status EndPace(const CudaBuffer& clock, uint64_t bytes) {
    if (clock.data() == nullptr || bytes == 0) return absl::OkStatus();
    const std::chrono::duration<double> takes(static_cast<double>(bytes) /
                                              group_.options_.bytes_per_second);
    return kernels_->Pace(static_cast<uint64_t*>(clock.data()),
                          std::chrono::duration_cast<std::chrono::nanoseconds>(takes),
                          stream_->handle());
  }

  DeviceGroup& group_;
  const uint32_t rank_;
  const CudaWorkplace seat_;
  const std::unique_ptr<RowKernels> kernels_;
  const std::unique_ptr<CudaStream> stream_;
  uint64_t next_ = 0;
};

DeviceGroup::DeviceGroup(uint32_t ranks, const LocalGroupOptions& options)
    : options_(options),
      board_(ranks, options.timeout),
      events_(std::make_unique<Events>(ranks)) {}

DeviceGroup::~DeviceGroup() = default;

absl::StatusOr<std::unique_ptr<DeviceGroup>> DeviceGroup::Create(
    std::vector<CudaWorkplace> seats, const LocalGroupOptions& options,
    std::span<const unsigned char> kernels) {
  std::unique_ptr<DeviceGroup> group(
      new DeviceGroup(static_cast<uint32_t>(seats.size()), options));
  for (uint32_t rank = 0; rank < seats.size(); ++rank) {
    CudaWorkplace& seat = seats[rank];
    absl::StatusOr<std::unique_ptr<RowKernels>> loaded =
        RowKernels::Load(seat.context, kernels);
    if (!loaded.ok()) return loaded.status();
    // So that its kernels start while the compute stream's fill the device.
    absl::StatusOr<std::unique_ptr<CudaStream>> stream =
        CudaStream::Create(seat.context, CudaStream::Priority::kGreatest);
    if (!stream.ok()) return stream.status();
    group->members_.push_back(std::make_unique<Member>(
        *group, rank, std::move(seat), *std::move(loaded), *std::move(stream)));
  }
  return group;
}

Communicator& DeviceGroup::OfRank(uint32_t rank) { return *members_[rank]; }

}  // namespace evenpack::worker
