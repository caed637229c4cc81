#include "gpu_worker/communicator/gloo_communicator.h"

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpu_worker/communicator/exchange_terms.h"
#include "gpu_worker/communicator/row_parcel.h"
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

using BufferPointer = std::unique_ptr<gloo::transport::UnboundBuffer>;

// Of all parcels of an exchange.
constexpr size_t kParcelBytes = size_t{16} << 20;

// Of a parcel, in a group of so many ranks: each sends to every other, and receives.
size_t MostBytes(uint32_t ranks) { return kParcelBytes / 2 / std::max(1U, ranks - 1); }

// What goes to a peer in an exchange, and what comes from it. Gloo takes fewer bytes
// than it waits for as they are, and ends the connection for more. So bytes are sent
// under a name that only those who expect as many wait for, and each tells the other
// its terms beside: where they differ, both know before a row is used. A connection
// that is closed with bytes unread takes along what its other end has not read either,
// the terms too. So rows of more than a parcel travel once both know that their terms
// agree, and ranks whose terms don't answer each other before they close.
//
// Two ranks meet only in exchanges in which they have rows for each other, and count
// these by themselves: ranks of different exchanges meet as well then, the last time at
// their step's end, and tell each other so.
struct Mail {
  Mail(uint32_t peer, const Exchange& exchange, uint64_t number, size_t most_bytes)
      : mine(TermsWith(peer, exchange, number)),
        received(exchange, (*exchange.receive_rows)[peer], most_bytes),
        sent(exchange, (*exchange.send_rows)[peer], most_bytes) {}

  uint64_t terms_name() const { return meeting | uint64_t{1} << 63; }
  uint64_t answer_name() const { return meeting | uint64_t{3} << 62; }
  // No two exchanges that are under way at once have the same; addresses have 47 bits.
  uint64_t bytes_name(uint64_t bytes) const { return bytes << 16 | (meeting & 0xffff); }

  // How often the two have met before.
  uint64_t meeting = 0;
  ExchangeTerms mine;
  ExchangeTerms theirs;
  BufferPointer told;
  BufferPointer heard;
  // To terms that are refused. That it comes says all.
  char answer = 0;
  char their_answer = 0;
  BufferPointer answering;
  BufferPointer answered;
  RowParcel received;
  RowParcel sent;
  BufferPointer receiving;
  BufferPointer sending;
};

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(std::shared_ptr<gloo::Context> context,
                   std::chrono::milliseconds timeout)
      : context_(std::move(context)), timeout_(timeout), meetings_(size()) {}

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
      Mail& mail = mails.emplace_back(peer, exchange, number, MostBytes(size()));
      if (mail.mine.has_rows()) mail.meeting = meetings_[peer]++;
    }
    absl::Status status = Post(mails);
    if (status.ok()) status = Hear(mails);
    if (status.ok()) status = PostLong(mails);
    for (bool is_done = false; status.ok() && !is_done;) {
      is_done = true;
      for (uint32_t peer = 0; status.ok() && peer < size(); ++peer) {
        status = GoOn(peer, mails[peer]);
        is_done = is_done && mails[peer].received.IsDone() && mails[peer].sent.IsDone();
      }
    }
    for (Mail& mail : mails) {
      if (!status.ok()) break;
      if (mail.mine.has_rows() && !mail.told->waitSend(timeout_)) return reason();
    }
    return status;
  }

  // What the peers' exchanges are: of all, so that a rank that differs from several is
  // refused by each.
  absl::Status Hear(std::vector<Mail>& mails) {
    absl::Status status;
    std::vector<uint32_t> refused;
    std::vector<uint32_t> silent;
    std::string why;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      try {
        if (!mail.heard->waitRecv(timeout_)) return reason();
      } catch (const std::exception& error) {
        // It may be gone for what this rank has yet to hear from the others.
        silent.push_back(peer);
        why = error.what();
        continue;
      }
      const absl::Status of_peer = CheckTerms(rank(), mail.mine, peer, mail.theirs);
      if (!of_peer.ok()) refused.push_back(peer);
      status.Update(of_peer);
    }
    if (!status.ok()) return Refuse(status, refused, mails);
    if (silent.empty()) return status;
    throw std::runtime_error(absl::StrCat("nothing came from cp_rank ",
                                          absl::StrJoin(silent, ", "), ": ", why));
  }

  // Waits for the parcels from a peer and to it, and posts the next ones: what a rank
  // waits for in a round over its peers, these have posted in the round before, so that
  // none waits for one that waits for it.
  absl::Status GoOn(uint32_t peer, Mail& mail) {
    absl::Status status;
    if (!mail.received.IsDone()) {
      if (!mail.receiving->waitRecv(timeout_)) return reason();
      mail.received.Unpack();
      mail.received.Next();
      status = ReceiveParcel(peer, mail);
    }
    if (status.ok() && !mail.sent.IsDone()) {
      if (!mail.sending->waitSend(timeout_)) return reason();
      mail.sent.Next();
      status = SendParcel(peer, mail);
    }
    return status;
  }

  // Peers find out by this rank's terms, which they would not get once the group is
  // aborted. Those whose terms are refused refuse this rank's, and answer as well.
  absl::Status Refuse(const absl::Status& status, const std::vector<uint32_t>& refused,
                      std::vector<Mail>& mails) {
    for (Mail& mail : mails) {
      if (mail.mine.has_rows()) UnlessGone([&] { mail.told->waitSend(timeout_); });
    }
    for (const uint32_t peer : refused) {
      UnlessGone([&] { Answer(peer, mails[peer]).IgnoreError(); });
    }
    for (const uint32_t peer : refused) {
      Mail& mail = mails[peer];
      if (mail.answered == nullptr) break;  // aborted meanwhile
      UnlessGone([&] { mail.answered->waitRecv(timeout_); });
    }
    Abort(status);
    return reason();
  }

  // That the peer's terms are here.
  absl::Status Answer(uint32_t peer, Mail& mail) {
    const uint64_t name = mail.answer_name();
    absl::Status status = Receive(peer, name, &mail.their_answer, 1, mail.answered);
    if (!status.ok()) return status;
    return Send(peer, name, &mail.answer, 1, mail.answering);
  }

  template <typename WithPeer>
  static void UnlessGone(WithPeer with_peer) {
    try {
      with_peer();
      // NOLINTNEXTLINE(bugprone-empty-catch): the group is aborted either way
    } catch (const std::exception&) {
      // The other peers have what they need.
    }
  }

  absl::Status Post(std::vector<Mail>& mails) {
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      absl::Status status = Receive(peer, mail.terms_name(), &mail.theirs,
                                    sizeof(mail.theirs), mail.heard);
      if (status.ok() && mail.received.IsWhole()) {
        status = ReceiveParcel(peer, mail);
      }
      if (!status.ok()) return status;
    }
    for (uint32_t peer = 0; peer < size(); ++peer) {
      Mail& mail = mails[peer];
      if (!mail.mine.has_rows()) continue;
      absl::Status status =
          Send(peer, mail.terms_name(), &mail.mine, sizeof(mail.mine), mail.told);
      if (status.ok() && mail.sent.IsWhole()) status = SendParcel(peer, mail);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The first parcels of those that Post has left out.
  absl::Status PostLong(std::vector<Mail>& mails) {
    absl::Status status;
    for (uint32_t peer = 0; status.ok() && peer < size(); ++peer) {
      if (mails[peer].received.IsWhole()) continue;
      status = ReceiveParcel(peer, mails[peer]);
    }
    for (uint32_t peer = 0; status.ok() && peer < size(); ++peer) {
      if (mails[peer].sent.IsWhole()) continue;
      status = SendParcel(peer, mails[peer]);
    }
    return status;
  }

  // What is under way then, if there is anything.
  absl::Status ReceiveParcel(uint32_t peer, Mail& mail) {
    RowParcel& parcel = mail.received;
    if (parcel.IsDone()) return absl::OkStatus();
    return Receive(peer, mail.bytes_name(parcel.bytes()), parcel.data(), parcel.bytes(),
                   mail.receiving);
  }
  absl::Status SendParcel(uint32_t peer, Mail& mail) {
    RowParcel& parcel = mail.sent;
    if (parcel.IsDone()) return absl::OkStatus();
    parcel.Pack();
    return Send(peer, mail.bytes_name(parcel.bytes()), parcel.data(), parcel.bytes(),
                mail.sending);
  }

  // Through a buffer of all that ever is at `data`, the first time the most. Nothing
  // once the group was aborted, for nobody would end it.
  absl::Status Receive(uint32_t peer, uint64_t name, void* data, size_t bytes,
                       BufferPointer& buffer) {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return reason_;
    MakeBuffer(data, bytes, buffer);
    buffer->recv(Int(peer), name, 0, bytes);
    return absl::OkStatus();
  }
  absl::Status Send(uint32_t peer, uint64_t name, void* data, size_t bytes,
                    BufferPointer& buffer) {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return reason_;
    MakeBuffer(data, bytes, buffer);
    buffer->send(Int(peer), name, 0, bytes);
    return absl::OkStatus();
  }
  void MakeBuffer(void* data, size_t bytes, BufferPointer& buffer)
      EVENPACK_REQUIRES(mutex_) {
    if (buffer != nullptr) return;
    buffer = context_->createUnboundBuffer(data, bytes);
    posted_.push_back(buffer.get());
  }

  static int Int(uint32_t rank) { return static_cast<int>(rank); }

  const std::shared_ptr<gloo::Context> context_;
  const std::chrono::milliseconds timeout_;
  uint64_t next_ = 0;
  // With each peer, the worker's own.
  std::vector<uint64_t> meetings_;
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
