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
#include "gpu_worker/communicator/exchange_terms.h"
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

// What goes to a peer in an exchange, and what comes from it. Gloo takes fewer bytes
// than it waits for as they are, and ends the process for more. So bytes are sent under
// a name that only those who expect as many wait for, and each tells the other its
// terms beside: where they differ, no bytes travel, and both know.
struct Mail {
  Mail(uint32_t peer, const Exchange& exchange)
      : mine(TermsWith(peer, exchange)),
        received(mine.received, exchange),
        sent(mine.sent, exchange) {}

  static uint64_t TermsName(uint64_t number) { return number | uint64_t{1} << 63; }
  // No two exchanges that are under way at once have the same; addresses have 47 bits.
  static uint64_t BytesName(uint64_t number, uint64_t bytes) {
    return bytes << 16 | (number & 0xffff);
  }

  ExchangeTerms mine;
  ExchangeTerms theirs;
  std::unique_ptr<gloo::transport::UnboundBuffer> told;
  std::unique_ptr<gloo::transport::UnboundBuffer> heard;
  Parcel received;
  Parcel sent;
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
    std::vector<Mail> mails;
    absl::Status status;
    try {
      status = Carry(number, exchange, mails);
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
                     std::vector<Mail>& mails) {
    FaultPoint("exchange.before");
    mails.reserve(size());  // pointers to them must stay
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails.emplace_back(peer, exchange);
      for (size_t t = 0; t < exchange.tensors.size(); ++t) {
        const ExchangedTensor part = mail.sent.Part(t);
        CopyRows(CopiesOf({&exchange.tensors[t], 1}, {&part, 1},
                          MovesOf((*exchange.send_rows)[peer], mail.sent.Ranges()),
                          exchange.row_bytes));
      }
    }
    if (absl::Status status = Post(number, mails); !status.ok()) return status;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      if (!mail.heard->waitRecv(timeout_)) return reason();
      absl::Status status = CheckTerms(rank(), mail.mine, peer, mail.theirs);
      if (!status.ok()) return Refuse(status, mails);
      if (mail.received.empty()) continue;
      if (!mail.received.buffer->waitRecv(timeout_)) return reason();
      for (size_t t = 0; t < exchange.tensors.size(); ++t) {
        const ExchangedTensor part = mail.received.Part(t);
        CopyRows(
            CopiesOf({&part, 1}, {&exchange.tensors[t], 1},
                     MovesOf(mail.received.Ranges(), (*exchange.receive_rows)[peer]),
                     exchange.row_bytes));
      }
    }
    for (Mail& mail : mails) {
      if (!mail.mine.has_rows()) continue;
      if (!mail.told->waitSend(timeout_)) return reason();
      if (!mail.sent.empty() && !mail.sent.buffer->waitSend(timeout_)) return reason();
    }
    return absl::OkStatus();
  }

  // Peers find out by this rank's terms, which they would not get once the group is
  // aborted.
  absl::Status Refuse(const absl::Status& status, std::vector<Mail>& mails) {
    try {
      for (Mail& mail : mails) {
        if (mail.mine.has_rows() && !mail.told->waitSend(timeout_)) break;
      }
      // NOLINTNEXTLINE(bugprone-empty-catch): the group is aborted either way
    } catch (const std::exception&) {
      // A peer is gone; the others have what they need.
    }
    Abort(status);
    return reason();
  }

  // Nothing once the group was aborted, for nobody would end it.
  absl::Status Post(uint64_t number, std::vector<Mail>& mails) {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return reason_;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      mail.heard = Buffer(&mail.theirs, sizeof(mail.theirs));
      mail.heard->recv(Int(peer), Mail::TermsName(number));
      if (mail.received.empty()) continue;
      mail.received.buffer = BufferOf(mail.received);
      mail.received.buffer->recv(Int(peer),
                                 Mail::BytesName(number, mail.mine.received_bytes()));
    }
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      mail.told = Buffer(&mail.mine, sizeof(mail.mine));
      mail.told->send(Int(peer), Mail::TermsName(number));
      if (mail.sent.empty()) continue;
      mail.sent.buffer = BufferOf(mail.sent);
      mail.sent.buffer->send(Int(peer),
                             Mail::BytesName(number, mail.mine.sent_bytes()));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<gloo::transport::UnboundBuffer> BufferOf(Parcel& parcel)
      EVENPACK_REQUIRES(mutex_) {
    return Buffer(parcel.bytes.data(), parcel.bytes.size());
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> Buffer(void* data, size_t bytes)
      EVENPACK_REQUIRES(mutex_) {
    auto buffer = context_->createUnboundBuffer(data, bytes);
    posted_.push_back(buffer.get());
    return buffer;
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
