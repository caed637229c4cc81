#include "client/cpp/producer_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/retry.h"
#include "client/cpp/token_ids.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/compared_documents.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

// Messages that may wait for the transport. Documents that the server has already
// aren't held back by its answers, so this is what holds them back.
constexpr size_t kMaxUnsentMessages = 64;

// Where `used` of `limit` is taken.
size_t Left(size_t used, size_t limit) { return limit - std::min(used, limit); }

}  // namespace

ProducerSession::ProducerSession(std::shared_ptr<Stub> stub,
                                 ClientOptions client_options, ProducerOptions options)
    : stub_(std::move(stub)),
      client_options_(std::move(client_options)),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ProducerSession::~ProducerSession() { Cancel(); }

void ProducerSession::Cancel() {
  SetFinal(absl::CancelledError("the producer was cancelled"));
  thread_.request_stop();
}

void ProducerSession::Run(const std::stop_token& stop) {
  Backoff backoff(client_options_.backoff, *client_options_.clock,
                  client_options_.random,
                  {absl::StrCat("feeding stream '", options_.stream, "' of job '",
                                options_.job, "'"),
                   client_options_.on_retry});
  while (AwaitWork()) {
    const absl::Status status = OneCall(backoff, stop);
    if (!GoesOn(status, backoff, stop)) return;
  }
}

bool ProducerSession::HasWork() const {
  return !opened_ || !batches_.empty() || (end_requested_ && !ended_);
}

bool ProducerSession::AwaitWork() {
  MutexLock lock(mutex_);
  while (!final_.has_value() && !HasWork()) changed_.Wait(mutex_);
  return !final_.has_value();
}

absl::Status ProducerSession::OneCall(Backoff& backoff, const std::stop_token& stop) {
  const std::shared_ptr<IngestStream> stream = stub_->Ingest(stop);
  v1::IngestRequest open;
  open.mutable_open()->set_job(options_.job);
  open.mutable_open()->set_stream(options_.stream);
  stream->Write(open);
  absl::Status status;
  v1::IngestResponse answer;
  CallProgress progress(backoff, *client_options_.clock,
                        client_options_.backoff.maximum);
  while (status.ok() && stream->Read(answer)) {
    progress.Answered();
    status = TakeAnswer(answer, stream);
    if (std::exchange(got_on_, false)) progress.GotOn();
  }
  progress.Ended();
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    sent_ = 0;
    // What the server has of them it has from this call or from another producer: that
    // it is the same is for the server to say.
    for (Batch& batch : batches_) batch.sent = false;
    end_sent_ = false;
  }
  return status.ok() ? stream->Finish() : status;
}

bool ProducerSession::GoesOn(const absl::Status& status, Backoff& backoff,
                             const std::stop_token& stop) {
  if (!IsLostCall(status)) SetFinal(status);
  {
    MutexLock lock(mutex_);
    if (final_.has_value() || ended_) return false;
    const bool in_order = half_closed_ && status.ok();
    half_closed_ = false;
    if (!in_order) TakeBackUnanswered();
    ForgetUnanswered();
    NoteEnd();
    changed_.SignalAll();
    if (ended_) return false;
    if (!HasWork()) backoff.Reset();
    if (in_order || !HasWork()) return true;
  }
  if (WaitToRetry(status, backoff, *client_options_.sleeper, stop)) return true;
  SetFinal(GaveUp(status, backoff));
  return false;
}

void ProducerSession::SetFinal(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (!final_.has_value()) final_ = status;
  changed_.SignalAll();
}

absl::Status ProducerSession::CheckNext(uint64_t server_next) const {
  if (opened_) {
    if (server_next >= accepted_) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "next_sequence: the server asks for document ", server_next, " of stream '",
        options_.stream, "', but it had accepted all below ", accepted_));
  }
  const uint64_t from = options_.from_sequence.value_or(server_next);
  if (from <= server_next) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "from_sequence: ", from, " leaves a gap in stream '", options_.stream,
      "'; accepted: at most ", server_next, ", the number of its next document"));
}

absl::Status ProducerSession::TakeAnswer(const v1::IngestResponse& answer,
                                         const std::shared_ptr<IngestStream>& stream) {
  MutexLock lock(mutex_);
  const uint64_t server_next = answer.next_sequence();
  if (absl::Status status = CheckNext(server_next); !status.ok()) return status;
  got_on_ = !opened_ || server_next > accepted_ || answer.ended() != stream_ended_;
  if (!opened_) next_ = options_.from_sequence.value_or(server_next);
  opened_ = true;
  accepted_ = server_next;
  stream_ended_ = answer.ended();
  stream_ = stream;
  DropAccepted();
  SendReady();
  NoteEnd();
  changed_.SignalAll();
  return absl::OkStatus();
}

void ProducerSession::DropAccepted() {
  while (!batches_.empty() && batches_.front().sent &&
         batches_.front().end() <= accepted_) {
    DropFirst();
  }
}

void ProducerSession::DropFirst() {
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  kept_documents_ -= batch.documents;
  kept_token_bytes_ -= batch.token_bytes;
  if (sent_ > 0) --sent_;
  // An answer to what the server got behind them.
  if (!batch.unanswered) return ForgetUnanswered();
  unanswered_token_bytes_ += batch.token_bytes;
  unanswered_.push_back(std::move(batch));
  while (unanswered_.back().end() - unanswered_.front().end() >= kComparedDocuments) {
    unanswered_token_bytes_ -= unanswered_.front().token_bytes;
    unanswered_.pop_front();
  }
  if (unanswered_token_bytes_ >= options_.max_unaccepted_token_bytes) EndWriting();
}

void ProducerSession::EndWriting() {
  if (stream_ == nullptr || half_closed_) return;
  half_closed_ = true;
  stream_->WritesDone();
}

void ProducerSession::ForgetUnanswered() {
  unanswered_.clear();
  unanswered_token_bytes_ = 0;
}

void ProducerSession::TakeBackUnanswered() {
  while (!unanswered_.empty()) {
    Batch batch = std::move(unanswered_.back());
    unanswered_.pop_back();
    batch.sent = false;
    kept_documents_ += batch.documents;
    kept_token_bytes_ += batch.token_bytes;
    batches_.push_front(std::move(batch));
  }
}

bool ProducerSession::HasEnded() const { return stream_ended_ && accepted_ == next_; }

void ProducerSession::NoteEnd() {
  if (!end_requested_ || !HasEnded() || !batches_.empty()) return;
  ended_ = unanswered_.empty();
  EndWriting();
}

void ProducerSession::SendReady() {
  if (stream_ == nullptr) return;
  while (sent_ < batches_.size() && !half_closed_) {
    Batch& batch = batches_[sent_];
    const bool is_last = sent_ + 1 == batches_.size();
    const bool now =
        !is_last || IsFull(batch) || sent_ == 0 || batch.first < flush_below_;
    if (!now) return;
    stream_->Write(*batch.message);
    batch.sent = true;
    ++sent_;
    batch.unanswered = batch.end() <= accepted_;
    DropAccepted();
  }
  if (end_requested_ && !end_sent_ && !half_closed_ && !HasEnded()) {
    v1::IngestRequest end;
    end.mutable_end_of_stream()->set_documents(next_);
    stream_->Write(end);
    end_sent_ = true;
  }
}

absl::Status ProducerSession::AwaitOpen() {
  MutexLock lock(mutex_);
  while (!opened_ && !final_.has_value()) changed_.Wait(mutex_);
  return final_.value_or(absl::OkStatus());
}

absl::Status ProducerSession::CheckOpen() const {
  if (final_.has_value()) return *final_;
  if (!end_requested_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("stream '", options_.stream, "' was ended at document ", next_));
}

size_t ProducerSession::Room(const DocumentColumns& documents, size_t first) const {
  const size_t most =
      std::min(documents.size() - first,
               Left(kept_documents_, options_.max_unaccepted_documents));
  const size_t room =
      CountWithin(documents, first, most,
                  Left(kept_token_bytes_, options_.max_unaccepted_token_bytes));
  return kept_documents_ == 0 ? std::max<size_t>(room, 1) : room;
}

size_t ProducerSession::RoomInBatch(const DocumentColumns& documents, size_t first,
                                    size_t most) const {
  if (batches_.empty() || batches_.back().sent) return 0;
  const Batch& batch = batches_.back();
  if (!FitTokenFile(documents, batch.message->batch())) return 0;
  const size_t sendable = CountWithin(
      documents, first, std::min(most, options_.batch_documents - batch.documents),
      Left(batch.token_bytes, options_.batch_token_bytes));
  const size_t room = CountReadWithin(documents, first, sendable,
                                      Left(batch.tokens_to_read, kMaxTokensToRead));
  return batch.documents == 0 ? std::max<size_t>(room, 1) : room;
}

bool ProducerSession::IsFull(const Batch& batch) const {
  return batch.documents == options_.batch_documents ||
         Left(batch.token_bytes, options_.batch_token_bytes) < kTokenIdBytes;
}

void ProducerSession::BeginBatch() {
  Batch batch;
  batch.message = std::make_unique<v1::IngestRequest>();
  batch.message->mutable_batch()->set_first_sequence(next_);
  batch.first = next_;
  batches_.push_back(std::move(batch));
}

void ProducerSession::Append(const DocumentColumns& documents, size_t count,
                             DocumentPlace& place) {
  while (count > 0) {
    size_t fits = RoomInBatch(documents, place.document, count);
    if (fits == 0) {
      BeginBatch();
      fits = RoomInBatch(documents, place.document, count);
    }
    Batch& batch = batches_.back();
    v1::DocumentBatch& message = *batch.message->mutable_batch();
    const size_t first_document = place.document;
    const size_t first_token = place.token;
    AppendDocuments(documents, place.document, fits, message);
    AppendTokens(documents, fits, place, message);
    const size_t token_bytes = (place.token - first_token) * kTokenIdBytes;
    batch.tokens_to_read += TokensToRead(documents, first_document, fits);
    batch.documents += fits;
    batch.token_bytes += token_bytes;
    kept_documents_ += fits;
    kept_token_bytes_ += token_bytes;
    next_ += fits;
    count -= fits;
  }
  SendReady();
  changed_.SignalAll();
}

size_t ProducerSession::MostUnsent(const DocumentColumns& documents) const {
  if (documents.token_ids.empty()) return kMaxUnsentMessages;
  const size_t longest = *std::ranges::max_element(documents.length);
  const size_t message = std::max(longest * kTokenIdBytes, options_.batch_token_bytes);
  return std::clamp<size_t>(options_.max_unaccepted_token_bytes / message, 1,
                            kMaxUnsentMessages);
}

void ProducerSession::AwaitTransport(size_t most_unsent) {
  std::shared_ptr<IngestStream> stream;
  {
    MutexLock lock(mutex_);
    stream = stream_;
  }
  if (stream != nullptr) stream->AwaitUnsentBelow(most_unsent);
}

absl::Status ProducerSession::Add(const DocumentColumns& documents) {
  if (absl::Status status = Validate(documents); !status.ok()) return status;
  const size_t most_unsent = MostUnsent(documents);
  DocumentPlace place;
  while (place.document < documents.size()) {
    AwaitTransport(most_unsent);
    MutexLock lock(mutex_);
    while (Room(documents, place.document) == 0 && CheckOpen().ok()) {
      changed_.Wait(mutex_);
    }
    if (absl::Status status = CheckOpen(); !status.ok()) return status;
    Append(documents, Room(documents, place.document), place);
  }
  return absl::OkStatus();
}

absl::Status ProducerSession::CheckAtOnce(const DocumentColumns& documents) const {
  if (documents.size() > options_.max_unaccepted_documents) {
    return InvalidField("documents", absl::StrCat(documents.size(), " entries"),
                        absl::StrCat("at most max_unaccepted_documents, ",
                                     options_.max_unaccepted_documents));
  }
  const size_t bytes = documents.token_ids.size() * kTokenIdBytes;
  if (documents.size() > 1 && bytes > options_.max_unaccepted_token_bytes) {
    return InvalidField("token_ids", absl::StrCat(bytes, " bytes"),
                        absl::StrCat("at most max_unaccepted_token_bytes, ",
                                     options_.max_unaccepted_token_bytes,
                                     ", of more than one document"));
  }
  return absl::OkStatus();
}

absl::Status ProducerSession::TryAdd(const DocumentColumns& documents) {
  if (absl::Status status = Validate(documents); !status.ok()) return status;
  if (absl::Status status = CheckAtOnce(documents); !status.ok()) return status;
  const size_t most_unsent = MostUnsent(documents);
  DocumentPlace place;
  MutexLock lock(mutex_);
  if (absl::Status status = CheckOpen(); !status.ok()) return status;
  const bool busy = stream_ != nullptr && stream_->unsent() >= most_unsent;
  if (busy || Room(documents, 0) < documents.size()) {
    const std::string bytes =
        kept_token_bytes_ == 0
            ? ""
            : absl::StrCat(", with ", kept_token_bytes_, " bytes of token ids");
    return absl::ResourceExhaustedError(absl::StrCat(
        kept_documents_, " documents of stream '", options_.stream,
        "' wait to be accepted", bytes, "; ", documents.size(), " more don't fit now"));
  }
  Append(documents, documents.size(), place);
  return absl::OkStatus();
}

absl::Status ProducerSession::Flush() {
  MutexLock lock(mutex_);
  const uint64_t target = next_;
  flush_below_ = std::max(flush_below_, target);
  SendReady();
  for (;;) {
    if (final_.has_value()) return *final_;
    const bool accepted = batches_.empty() || batches_.front().first >= target;
    if (accepted && unanswered_.empty()) return absl::OkStatus();
    if (accepted) EndWriting();
    changed_.Wait(mutex_);
  }
}

absl::Status ProducerSession::EndOfStream() {
  MutexLock lock(mutex_);
  if (final_.has_value()) return *final_;
  end_requested_ = true;
  flush_below_ = next_;
  SendReady();
  NoteEnd();
  changed_.SignalAll();
  while (!ended_ && !final_.has_value()) changed_.Wait(mutex_);
  return ended_ ? absl::OkStatus() : *final_;
}

uint64_t ProducerSession::next_sequence() const {
  MutexLock lock(mutex_);
  return next_;
}

uint64_t ProducerSession::accepted_sequence() const {
  MutexLock lock(mutex_);
  return accepted_;
}

}  // namespace evenpack::client
