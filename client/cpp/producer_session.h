// The producer over a stub: batches, resends, back-pressure.
#ifndef EVENPACK_CLIENT_CPP_PRODUCER_SESSION_H_
#define EVENPACK_CLIENT_CPP_PRODUCER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/backoff.h"
#include "client/cpp/call_progress.h"
#include "client/cpp/client_options.h"
#include "client/cpp/document_batch.h"
#include "client/cpp/producer.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// What Producer says. A thread opens calls and reads answers; callers of Add hand
// messages to the call themselves, which never blocks.
//
// A batch is kept until it has been sent and the server has said that it has what is in
// it. When a call is lost the next one sends all that are kept, in order: the server
// trims what it has, so the numbers make it exactly once.
//
// Documents below what the server has already (options.from_sequence) are answered by
// nothing unless their content differs. Flush() and EndOfStream() then end the call's
// writing side, and take the call's end with OK for the answer. Until then, or until
// documents behind them are answered, the last of them are kept, as many as the server
// compares: a call that is lost may not have come to them.
class ProducerSession final : public Producer {
 public:
  // Both options are valid.
  ProducerSession(std::shared_ptr<Stub> stub, ClientOptions client_options,
                  ProducerOptions options);
  ~ProducerSession() override;
  ProducerSession(const ProducerSession&) = delete;
  ProducerSession& operator=(const ProducerSession&) = delete;

  // Blocks until the server has said what is next.
  absl::Status AwaitOpen();

  absl::Status Add(const DocumentColumns& documents) override;
  absl::Status TryAdd(const DocumentColumns& documents) override;
  absl::Status Flush() override;
  absl::Status EndOfStream() override;
  uint64_t next_sequence() const override;
  uint64_t accepted_sequence() const override;
  void Cancel() override;

 private:
  struct Batch {
    std::unique_ptr<v1::IngestRequest> message;
    uint64_t first = 0;
    size_t documents = 0;
    size_t token_bytes = 0;
    // In the file that the server reads.
    uint64_t tokens_to_read = 0;
    // On this call.
    bool sent = false;
    // The server had its documents before, so that nothing but the call's end answers.
    bool unanswered = false;

    uint64_t end() const { return first + documents; }
  };

  // The session thread.
  void Run(const std::stop_token& stop);
  // Blocks until there is something to open a call for; false: the session is over.
  bool AwaitWork();
  bool HasWork() const EVENPACK_REQUIRES(mutex_);
  // Whether the session goes on after a call that ended so.
  bool GoesOn(const absl::Status& status, Backoff& backoff,
              const std::stop_token& stop);
  absl::Status OneCall(Backoff& backoff, const std::stop_token& stop);
  absl::Status TakeAnswer(const v1::IngestResponse& answer,
                          const std::shared_ptr<IngestStream>& stream);
  absl::Status CheckNext(uint64_t server_next) const EVENPACK_REQUIRES(mutex_);
  void SetFinal(const absl::Status& status);

  // Callers' side.
  absl::Status CheckOpen() const EVENPACK_REQUIRES(mutex_);
  // How many of the documents from `first` on may be taken now.
  size_t Room(const DocumentColumns& documents, size_t first) const
      EVENPACK_REQUIRES(mutex_);
  // How many of them, at most `most`, the batch that is last can have.
  size_t RoomInBatch(const DocumentColumns& documents, size_t first, size_t most) const
      EVENPACK_REQUIRES(mutex_);
  bool IsFull(const Batch& batch) const;
  void BeginBatch() EVENPACK_REQUIRES(mutex_);
  // Takes `count` documents from `place` on, which moves behind them.
  void Append(const DocumentColumns& documents, size_t count, DocumentPlace& place)
      EVENPACK_REQUIRES(mutex_);
  // How many messages may wait for the transport before more is made of these.
  size_t MostUnsent(const DocumentColumns& documents) const;
  void AwaitTransport(size_t most_unsent);
  // INVALID_ARGUMENT: so many can never be taken at once.
  absl::Status CheckAtOnce(const DocumentColumns& documents) const;
  // Hands to the call what it may have now.
  void SendReady() EVENPACK_REQUIRES(mutex_);
  void DropAccepted() EVENPACK_REQUIRES(mutex_);
  void DropFirst() EVENPACK_REQUIRES(mutex_);
  // So that the call's end answers.
  void EndWriting() EVENPACK_REQUIRES(mutex_);
  // Has what a lost call may not have compared sent again.
  void TakeBackUnanswered() EVENPACK_REQUIRES(mutex_);
  void ForgetUnanswered() EVENPACK_REQUIRES(mutex_);
  // Whether the server said that the stream has as many documents as were added, and
  // ended.
  bool HasEnded() const EVENPACK_REQUIRES(mutex_);
  // Notes that the stream has ended as was asked, if so, or has the call tell it.
  void NoteEnd() EVENPACK_REQUIRES(mutex_);

  const std::shared_ptr<Stub> stub_;
  const ClientOptions client_options_;
  const ProducerOptions options_;
  // What was read last says more than the one before; the session thread's.
  bool got_on_ = false;

  mutable Mutex mutex_;
  CondVar changed_;
  // The call that may be written to; null while there is none.
  std::shared_ptr<IngestStream> stream_ EVENPACK_GUARDED_BY(mutex_);
  // Ascending; the first sent_ of them were handed to stream_.
  std::deque<Batch> batches_ EVENPACK_GUARDED_BY(mutex_);
  size_t sent_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // The last that stream_ was given and nothing but its end answers; they are not among
  // those that are kept. Their token ids take no more than those may, and one message.
  std::deque<Batch> unanswered_ EVENPACK_GUARDED_BY(mutex_);
  size_t unanswered_token_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t kept_documents_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t kept_token_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t next_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t accepted_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Batches that begin below are sent however small they are.
  uint64_t flush_below_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // The writing side of the call was ended.
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool opened_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool end_requested_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool end_sent_ EVENPACK_GUARDED_BY(mutex_) = false;
  // As the server said last.
  bool stream_ended_ EVENPACK_GUARDED_BY(mutex_) = false;
  // The same, with the documents that were added.
  bool ended_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> final_ EVENPACK_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_PRODUCER_SESSION_H_
