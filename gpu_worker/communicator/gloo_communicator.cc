#include "gpu_worker/communicator/gloo_communicator.h"

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/row_copies.h"
#include "server/runtime/fault_point.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"

namespace evenpack::worker {
namespace {

// How an exchange ended, once it has.
class Outcome {
 public:
  void Set(absl::Status status) {
    {
      MutexLock lock(mutex_);
      status_ = std::move(status);
    }
    changed_.SignalAll();
  }
  absl::Status Wait() {
    MutexLock lock(mutex_);
    while (!status_.has_value()) changed_.Wait(mutex_);
    return *status_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<absl::Status> status_ EVENPACK_GUARDED_BY(mutex_);
};

class Pending final : public Transfer {
 public:
  explicit Pending(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}
  ~Pending() override { outcome_->Wait().IgnoreError(); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  absl::Status Wait() override { return outcome_->Wait(); }

 private:
  const std::shared_ptr<Outcome> outcome_;
};

// The rows of all tensors for one peer, or from it, one after another.
struct Parcel {
  Parcel(uint64_t rows_of_each, const Exchange& exchange)
      : rows(rows_of_each),
        row_bytes(exchange.row_bytes),
        bytes(rows_of_each * exchange.row_bytes * exchange.tensors.size()) {}

  bool empty() const { return bytes.empty(); }
  std::vector<RowRange> Ranges() const { return {{0, rows}}; }
  // As a tensor that rows are sent from, or received into.
  ExchangedTensor Part(size_t tensor) {
    char* const first = bytes.data() + tensor * rows * row_bytes;
    return {first, row_bytes, first, row_bytes};
  }

  uint64_t rows;
  size_t row_bytes;
  std::vector<char> bytes;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
};

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(std::shared_ptr<gloo::Context> context,
                   std::chrono::milliseconds timeout)
      : context_(std::move(context)), timeout_(timeout) {}

  uint32_t rank() const override { return static_cast<uint32_t>(context_->rank); }
  uint32_t size() const override { return static_cast<uint32_t>(context_->size); }

  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    auto outcome = std::make_shared<Outcome>();
    worker_.Run([this, number = next_++, exchange, outcome] {
      outcome->Set(Run(number, exchange));
    });
    return std::make_unique<Pending>(std::move(outcome));
  }

  void Abort(const absl::Status& reason) override {
    {
      MutexLock lock(mutex_);
      if (!reason_.ok()) return;
      reason_ = reason;
      for (gloo::transport::UnboundBuffer* buffer : posted_) {
        buffer->abortWaitRecv();
        buffer->abortWaitSend();
      }
    }
    // What waits for this rank, at its peers, fails then.
    context_->closeConnections();
  }

 private:
  absl::Status reason() {
    MutexLock lock(mutex_);
    return reason_;
  }

  absl::Status Run(uint64_t number, const Exchange& exchange) {
    std::vector<Parcel> received;
    std::vector<Parcel> sent;
    absl::Status status;
    try {
      status = Carry(number, exchange, received, sent);
    } catch (const std::exception& error) {
      Abort(absl::UnavailableError(
          absl::StrCat("cp_rank ", rank(), ": exchange ", number,
                       " with its group failed: ", error.what())));
      status = reason();
    }
    MutexLock lock(mutex_);
    posted_.clear();
    return status;
  }

  absl::Status Carry(uint64_t number, const Exchange& exchange,
                     std::vector<Parcel>& received, std::vector<Parcel>& sent) {
    FaultPoint("exchange.before");
    // Pointers to them must stay.
    received.reserve(size());
    sent.reserve(size());
    for (uint32_t peer = 0; peer < size(); ++peer) {
      received.emplace_back(RowsIn((*exchange.receive_rows)[peer]), exchange);
      const std::vector<RowRange>& rows = (*exchange.send_rows)[peer];
      Parcel& parcel = sent.emplace_back(RowsIn(rows), exchange);
      for (size_t t = 0; t < exchange.tensors.size(); ++t) {
        const ExchangedTensor part = parcel.Part(t);
        CopyRows(CopiesOf({&exchange.tensors[t], 1}, {&part, 1},
                          MovesOf(rows, parcel.Ranges()), exchange.row_bytes));
      }
    }
    if (absl::Status status = Post(number, received, sent); !status.ok()) return status;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Parcel& parcel = received[peer];
      if (parcel.empty()) continue;
      if (!parcel.buffer->waitRecv(timeout_)) return reason();
      for (size_t t = 0; t < exchange.tensors.size(); ++t) {
        const ExchangedTensor part = parcel.Part(t);
        CopyRows(CopiesOf({&part, 1}, {&exchange.tensors[t], 1},
                          MovesOf(parcel.Ranges(), (*exchange.receive_rows)[peer]),
                          exchange.row_bytes));
      }
    }
    for (Parcel& parcel : sent) {
      if (!parcel.empty() && !parcel.buffer->waitSend(timeout_)) return reason();
    }
    return absl::OkStatus();
  }

  // Nothing once the group was aborted, for nobody would end it.
  absl::Status Post(uint64_t number, std::vector<Parcel>& received,
                    std::vector<Parcel>& sent) {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return reason_;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      if (!received[peer].empty()) Buffer(received[peer]).recv(Int(peer), number);
    }
    for (uint32_t peer = 0; peer < size(); ++peer) {
      if (!sent[peer].empty()) Buffer(sent[peer]).send(Int(peer), number);
    }
    return absl::OkStatus();
  }

  gloo::transport::UnboundBuffer& Buffer(Parcel& parcel) EVENPACK_REQUIRES(mutex_) {
    parcel.buffer =
        context_->createUnboundBuffer(parcel.bytes.data(), parcel.bytes.size());
    posted_.push_back(parcel.buffer.get());
    return *parcel.buffer;
  }

  static int Int(uint32_t rank) { return static_cast<int>(rank); }

  const std::shared_ptr<gloo::Context> context_;
  const std::chrono::milliseconds timeout_;
  uint64_t next_ = 0;
  Mutex mutex_;
  // Why the group was aborted.
  absl::Status reason_ EVENPACK_GUARDED_BY(mutex_);
  // Of the exchange under way.
  std::vector<gloo::transport::UnboundBuffer*> posted_ EVENPACK_GUARDED_BY(mutex_);
  WorkerPool worker_{1};  // last, since its tasks use the others
};

}  // namespace

std::unique_ptr<Communicator> MakeGlooCommunicator(
    std::shared_ptr<gloo::Context> context, std::chrono::milliseconds timeout) {
  return std::make_unique<GlooCommunicator>(std::move(context), timeout);
}

}  // namespace evenpack::worker
