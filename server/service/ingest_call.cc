#include "server/service/ingest_call.h"

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"
#include "server/service/admission.h"
#include "server/service/batch_conversion.h"
#include "server/service/job_stream_call.h"
#include "server/service/message_bytes.h"

namespace evenpack {
namespace {

// Batches of one call that are decided and not committed yet; no more is read then.
constexpr int kMaxUncommitted = 64;
// Batches that are committed and not answered yet: while others are on their way to the
// store, one answer does for as many.
constexpr int kMaxUntold = 16;

// Reads are started one after another, each when the batch before it is decided and the
// stream has room; a batch that comes when other calls have filled that waits itself.
// Answers go out as commits come in.
class IngestCall final : public JobStreamCall, public CommitListener {
 public:
  IngestCall(const ServiceEnvironment& environment,
             const grpc::ServerContextBase& context)
      : JobStreamCall(environment, context, kIngestStream, environment.calls.ingest) {}

  void AfterCommit() override {
    Pump();
    ReadOn();
  }

 private:
  void ReadDone(bool ok) override {
    if (!ok) {
      {
        MutexLock lock(mutex_);
        reading_ = Reading::kNoMore;
      }
      if (job_ == nullptr) {
        return End(InvalidField("message", "none", "open as the first of a call"));
      }
      return Pump();
    }
    // Once the call is open the next message may be here before this returns.
    const bool is_first = job_ == nullptr;
    absl::Status status = TakeMessage();
    if (!status.ok()) return End(std::move(status));
    if (!is_first) TakeGiven();
  }

  enum class Reading { kYes, kHeldBack, kNoMore };

  // What a message asks for after the first.
  struct Given {
    Command command;
    // The stream's next sequence number then, and whether it ends.
    uint64_t next = 0;
    bool ends = false;
    // Its tokens lie in a file that may be slow.
    bool from_file = false;
  };

  // The last message is done with, but for its commit.
  void Decided() {
    // Of this batch: from here on it may be the next one's.
    const bool sent_ahead = sent_ahead_;
    RequestTaken();
    // The next batch may be decided while this one is committed.
    ReadOn();
    if (sent_ahead) {
      job_->FlushSoon();
    } else {
      job_->Flush();
    }
  }

  void TakeGiven() {
    if (!given_->from_file) return Take();
    environment_.file_readers->Run([self = SelfAs<IngestCall>()] { self->Take(); });
  }

  // Now, or once the stream has room: another call may have filled it since the read.
  void Take() {
    absl::StatusOr<bool> taken = false;
    while (taken.ok() && !*taken) {
      // What was committed meanwhile is told before room is waited for.
      if (WaitsWithGiven()) return Pump();
      taken = Enqueue(*given_);
    }
    given_.reset();
    if (!taken.ok()) return End(taken.status());
    Decided();
  }

  bool WaitsWithGiven() {
    if (given_->ends) return false;
    MutexLock lock(mutex_);
    if (ending_.has_value()) return false;
    waits_with_given_ = WaitsForRoom();
    return waits_with_given_;
  }

  bool WaitsForRoom() EVENPACK_REQUIRES(mutex_) {
    waiting_for_room_ = job_->WaitForRoom(
        stream_index_, [self = SelfAs<IngestCall>()] { self->RoomMade(); });
    return waiting_for_room_.has_value();
  }

  // Of bytes_: opens, or sets given_.
  absl::Status TakeMessage() {
    // Enough for most batches, whose columns would be allocated one by one.
    std::array<char, 4 << 10> block;
    google::protobuf::Arena arena(block.data(), block.size());
    auto& request = *google::protobuf::Arena::CreateMessage<v1::IngestRequest>(&arena);
    absl::Status status = ReadMessage(bytes_, request);
    if (!status.ok()) return status;
    return job_ == nullptr ? Open(request) : Give(request);
  }

  absl::Status Open(const v1::IngestRequest& request) {
    if (!request.has_open()) {
      return InvalidField("message", "another message", "open as the first of a call");
    }
    absl::StatusOr<std::shared_ptr<Job>> job = FindJob(request.open().job());
    if (!job.ok()) return job.status();
    absl::Status status = Hold(**job);
    if (!status.ok()) return status;
    stream_ = request.open().stream();
    job_ = *std::move(job);
    producer_ = job_->AddProducer(
        [self = SelfAs<IngestCall>()](const absl::Status& why) { self->Drop(why); });
    job_->OpenStream(stream_, [self = SelfAs<IngestCall>()](
                                  const absl::StatusOr<StreamPosition>& position) {
      self->Opened(position);
    });
    return absl::OkStatus();
  }

  void Opened(const absl::StatusOr<StreamPosition>& position) {
    if (!position.ok()) return End(position.status());
    {
      MutexLock lock(mutex_);
      stream_index_ = position->index;
      committed_.set_next_sequence(position->next_sequence);
      committed_.set_ended(position->ended);
      ++untold_;
    }
    Pump();
    RequestTaken();
    ReadOn();
  }

  void LeaveJob() override {
    std::optional<uint64_t> waiting;
    {
      MutexLock lock(mutex_);
      waiting = waiting_for_room_;
    }
    if (waiting.has_value()) job_->StopWaiting(*waiting);
    job_->RemoveProducer(producer_);
  }

  // bytes_ may be read into again.
  void RequestTaken() {
    MutexLock lock(mutex_);
    if (reading_ == Reading::kYes) reading_ = Reading::kHeldBack;
  }

  absl::Status Give(const v1::IngestRequest& request) {
    switch (request.message_case()) {
      case v1::IngestRequest::kBatch: {
        absl::StatusOr<Ingest> ingest = FromProto(stream_, request.batch());
        if (!ingest.ok()) return ingest.status();
        const uint64_t next = ingest->first_sequence + ingest->lengths.size();
        const bool from_file =
            ingest->token_file.has_value() && environment_.file_readers != nullptr;
        given_ = {*std::move(ingest), next, false, from_file};
        return absl::OkStatus();
      }
      case v1::IngestRequest::kEndOfStream: {
        const uint64_t documents = request.end_of_stream().documents();
        given_ = {EndOfStream{stream_, documents}, documents, true};
        return absl::OkStatus();
      }
      default:
        return InvalidField("message", request.has_open() ? "a second open" : "nothing",
                            "batch or end_of_stream");
    }
  }

  // False where the stream is full.
  absl::StatusOr<bool> Enqueue(const Given& given) {
    std::optional<size_t> stream;
    {
      MutexLock lock(mutex_);
      // Nobody would be told any more.
      if (ending_.has_value()) return *ending_;
      sent_ahead_ = uncommitted_ > 0 || untold_ > 0;
      ++uncommitted_;
      if (!given.ends) stream = stream_index_;
    }
    auto self = SelfAs<IngestCall>();
    absl::StatusOr<bool> taken = job_->EnqueueIfRoom(
        stream, given.command,
        [this, self, next = given.next, ends = given.ends](
            const absl::Status& committed) { Committed(committed, next, ends); },
        std::move(self));
    if (taken.ok() && *taken) return taken;
    MutexLock lock(mutex_);
    --uncommitted_;
    if (taken.ok()) return taken;
    return InBatchNames(taken.status());
  }

  void Committed(const absl::Status& status, uint64_t next, bool ends) {
    MutexLock lock(mutex_);
    --uncommitted_;
    if (dropped_) return;
    if (!status.ok()) {
      // Also where a later batch was refused: without this one it left a gap.
      if (!std::exchange(not_stored_, true)) ending_ = InBatchNames(status);
      return;
    }
    committed_.set_next_sequence(std::max(committed_.next_sequence(), next));
    committed_.set_ended(committed_.ended() || ends);
    ++untold_;
  }

  // Starts the next read, or leaves that to a commit or to a step that makes room.
  void ReadOn() {
    {
      MutexLock lock(mutex_);
      if (ending_.has_value() || reading_ != Reading::kHeldBack) return;
      if (uncommitted_ >= kMaxUncommitted || waiting_for_room_.has_value()) return;
      if (WaitsForRoom()) return;
      reading_ = Reading::kYes;
      ReadIsNext();
    }
    ReadNext();
  }

  void RoomMade() {
    bool waited_with_given = false;
    {
      MutexLock lock(mutex_);
      waiting_for_room_.reset();
      // The file's readers may be gone where the call is over.
      waited_with_given =
          std::exchange(waits_with_given_, false) && !ending_.has_value();
    }
    if (waited_with_given) return TakeGiven();
    ReadOn();
  }

  // What was accepted is no more, or is not what it was: nothing more is told of it,
  // nor of what was refused since, as behind a gap where batches before it are gone.
  void Drop(absl::Status status) {
    {
      MutexLock lock(mutex_);
      dropped_ = true;
      untold_ = 0;
      ending_ = std::move(status);
    }
    Pump();
  }

  bool TakeNext() override EVENPACK_REQUIRES(mutex_) {
    if (untold_ >= (uncommitted_ == 0 ? 1 : kMaxUntold)) {
      response_ = MessageBytes(committed_);
      untold_ = 0;
      return true;
    }
    if (uncommitted_ == 0 && reading_ == Reading::kNoMore && !ending_.has_value()) {
      ending_ = absl::OkStatus();
    }
    return false;
  }

  // All that was decided is told first.
  bool MayFinish() override EVENPACK_REQUIRES(mutex_) { return uncommitted_ == 0; }

  // Until it is taken; no other message is read meanwhile.
  std::optional<Given> given_;
  // The last batch came before the producer knew of the one before.
  bool sent_ahead_ = false;
  // Set with job_.
  uint64_t producer_ = 0;
  std::string stream_;

  size_t stream_index_ EVENPACK_GUARDED_BY(mutex_) = 0;
  Reading reading_ EVENPACK_GUARDED_BY(mutex_) = Reading::kYes;
  std::optional<uint64_t> waiting_for_room_ EVENPACK_GUARDED_BY(mutex_);
  bool waits_with_given_ EVENPACK_GUARDED_BY(mutex_) = false;
  int uncommitted_ EVENPACK_GUARDED_BY(mutex_) = 0;
  v1::IngestResponse committed_ EVENPACK_GUARDED_BY(mutex_);
  int untold_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool dropped_ EVENPACK_GUARDED_BY(mutex_) = false;
  // A batch was not; those behind it were not either.
  bool not_stored_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

StreamReactor* StartIngestCall(const ServiceEnvironment& environment,
                               const grpc::ServerContextBase& context) {
  const auto call = std::make_shared<IngestCall>(environment, context);
  call->Start();
  return call.get();
}

}  // namespace evenpack
