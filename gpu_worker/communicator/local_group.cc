#include "gpu_worker/communicator/local_group.h"

#include <cstddef>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/row_copies.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"

namespace evenpack::worker {
// What every rank has begun, for the others to read.
class LocalGroup::Board {
 public:
  Board(uint32_t ranks, const LocalGroupOptions& options)
      : ranks_(ranks), options_(options), posted_(ranks) {}

  const LocalGroupOptions& options() const { return options_; }
  uint32_t ranks() const { return ranks_; }

  void Post(uint32_t rank, uint64_t number, const Exchange& exchange) {
    {
      MutexLock lock(mutex_);
      posted_[rank][number] = {exchange, ranks() - 1, 0, true};
    }
    changed_.SignalAll();
  }

  // The peer's exchange, which it keeps until EndRead; none once the group is aborted.
  std::optional<Exchange> BeginRead(uint32_t peer, uint64_t number) {
    const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
    MutexLock lock(mutex_);
    while (reason_.ok() && !posted_[peer].contains(number)) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        SetReason(absl::UnavailableError(
            absl::StrCat("cp_rank ", peer, " did not begin exchange ", number,
                         " in time; the group is aborted")));
        break;
      }
      changed_.WaitFor(mutex_, left);
    }
    if (!reason_.ok()) return std::nullopt;
    Posted& posted = posted_[peer].at(number);
    ++posted.reading;
    return posted.exchange;
  }

  void EndRead(uint32_t peer, uint64_t number) {
    {
      MutexLock lock(mutex_);
      Posted& posted = posted_[peer].at(number);
      --posted.reading;
      --posted.unread;
    }
    changed_.SignalAll();
  }

  void EndReceive(uint32_t rank, uint64_t number) {
    {
      MutexLock lock(mutex_);
      posted_[rank].at(number).receiving = false;
    }
    changed_.SignalAll();
  }

  // Nobody reads or writes the exchange's memory after that.
  absl::Status Finish(uint32_t rank, uint64_t number) {
    MutexLock lock(mutex_);
    const auto found = posted_[rank].find(number);
    const Posted& posted = found->second;
    while (posted.receiving || posted.reading > 0 ||
           (posted.unread > 0 && reason_.ok())) {
      changed_.Wait(mutex_);
    }
    const bool complete = posted.unread == 0 && reason_.ok();
    posted_[rank].erase(found);
    return complete ? absl::OkStatus() : reason_;
  }

  void Abort(const absl::Status& reason) {
    MutexLock lock(mutex_);
    SetReason(reason);
  }

 private:
  struct Posted {
    Exchange exchange;
    // Peers that have not read it yet, and that are doing so.
    uint32_t unread = 0;
    uint32_t reading = 0;
    // The rank itself is still receiving.
    bool receiving = true;
  };

  void SetReason(const absl::Status& reason) EVENPACK_REQUIRES(mutex_) {
    if (reason_.ok()) reason_ = reason;
    changed_.SignalAll();
  }

  const uint32_t ranks_;
  const LocalGroupOptions options_;
  Mutex mutex_;
  CondVar changed_;
  // By rank and number.
  std::vector<std::map<uint64_t, Posted>> posted_ EVENPACK_GUARDED_BY(mutex_);
  // Why the group was aborted.
  absl::Status reason_ EVENPACK_GUARDED_BY(mutex_);
};

class LocalGroup::Member final : public Communicator {
 public:
  Member(Board& board, uint32_t rank) : board_(board), rank_(rank) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return board_.ranks(); }

  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    const uint64_t number = next_++;
    board_.Post(rank_, number, exchange);
    copying_.Run([this, number, exchange] { Receive(number, exchange); });
    return std::make_unique<Pending>(board_, rank_, number);
  }

  void Abort(const absl::Status& reason) override { board_.Abort(reason); }

 private:
  class Pending final : public Transfer {
   public:
    Pending(Board& board, uint32_t rank, uint64_t number)
        : board_(board), rank_(rank), number_(number) {}
    ~Pending() override { Finish().IgnoreError(); }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    absl::Status Wait() override { return Finish(); }

   private:
    absl::Status Finish() {
      if (!status_.has_value()) status_ = board_.Finish(rank_, number_);
      return *status_;
    }

    Board& board_;
    const uint32_t rank_;
    const uint64_t number_;
    std::optional<absl::Status> status_;
  };

  void Receive(uint64_t number, const Exchange& to) {
    const auto begun = std::chrono::steady_clock::now();
    uint64_t bytes = 0;
    // Each rank begins with another peer.
    for (uint32_t i = 1; i < size(); ++i) {
      const uint32_t peer = (rank_ + i) % size();
      const std::optional<Exchange> from = board_.BeginRead(peer, number);
      if (!from.has_value()) break;
      const std::vector<RowRange>& sent = (*from->send_rows)[rank_];
      const std::vector<RowRange>& received = (*to.receive_rows)[peer];
      if (RowsIn(sent) == RowsIn(received)) {
        for (size_t t = 0; t < to.tensors.size(); ++t) {
          CopyRows(from->tensors[t], sent, to.tensors[t], received, to.row_bytes);
        }
        bytes += RowsIn(received) * to.row_bytes * to.tensors.size();
      } else {
        board_.Abort(absl::InternalError(
            absl::StrCat("cp_rank ", peer, " sends ", RowsIn(sent), " rows to cp_rank ",
                         rank_, ", which expects ", RowsIn(received))));
      }
      board_.EndRead(peer, number);
    }
    if (const double rate = board_.options().bytes_per_second; rate > 0) {
      std::this_thread::sleep_until(
          begun +
          std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::duration<double>(static_cast<double>(bytes) / rate)));
    }
    board_.EndReceive(rank_, number);
  }

  Board& board_;
  const uint32_t rank_;
  uint64_t next_ = 0;
  WorkerPool copying_{1};  // last, since its task uses the others
};

LocalGroup::LocalGroup(uint32_t ranks, const LocalGroupOptions& options)
    : board_(std::make_unique<Board>(ranks, options)) {
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    members_.push_back(std::make_unique<Member>(*board_, rank));
  }
}

LocalGroup::~LocalGroup() = default;

Communicator& LocalGroup::OfRank(uint32_t rank) { return *members_[rank]; }

}  // namespace evenpack::worker
