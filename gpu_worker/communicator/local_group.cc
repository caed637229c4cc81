#include "gpu_worker/communicator/local_group.h"

#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "gpu_worker/communicator/exchange_board.h"
#include "gpu_worker/communicator/row_copies.h"
#include "server/runtime/worker_pool.h"

namespace evenpack::worker {
class LocalGroup::Member final : public Communicator {
 public:
  Member(ExchangeBoard& board, uint32_t rank, double bytes_per_second)
      : board_(board), rank_(rank), bytes_per_second_(bytes_per_second) {}

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
    Pending(ExchangeBoard& board, uint32_t rank, uint64_t number)
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

    ExchangeBoard& board_;
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
      const std::optional<Exchange> from = board_.BeginRead(peer, number, rank_, to);
      if (!from.has_value()) break;
      CopyRows(CopiesOf(from->tensors, to.tensors,
                        MovesOf((*from->send_rows)[rank_], (*to.receive_rows)[peer]),
                        to.row_bytes));
      bytes += RowsIn((*to.receive_rows)[peer]) * to.row_bytes * to.tensors.size();
      board_.EndRead(peer, number);
    }
    if (const double rate = bytes_per_second_; rate > 0) {
      std::this_thread::sleep_until(
          begun +
          std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::duration<double>(static_cast<double>(bytes) / rate)));
    }
    board_.EndReceive(rank_, number);
  }

  ExchangeBoard& board_;
  const uint32_t rank_;
  const double bytes_per_second_;
  uint64_t next_ = 0;
  WorkerPool copying_{1};  // last, since its task uses the others
};

LocalGroup::LocalGroup(uint32_t ranks, const LocalGroupOptions& options)
    : board_(std::make_unique<ExchangeBoard>(ranks, options.timeout)) {
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    members_.push_back(
        std::make_unique<Member>(*board_, rank, options.bytes_per_second));
  }
}

LocalGroup::~LocalGroup() = default;

Communicator& LocalGroup::OfRank(uint32_t rank) { return *members_[rank]; }

}  // namespace evenpack::worker
