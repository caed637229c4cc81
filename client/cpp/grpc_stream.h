// A bidirectional gRPC call as a MessageStream.
#ifndef EVENPACK_CLIENT_CPP_GRPC_STREAM_H_
#define EVENPACK_CLIENT_CPP_GRPC_STREAM_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/answer_bytes.h"
#include "client/cpp/grpc_status.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// Over gRPC's callback API: writing never blocks and needs no thread. The hold that is
// taken at the start, and given back when reading has failed or the object goes, keeps
// the call from being finished under an operation that is about to start.
template <typename Request, typename Response>
class GrpcStream final : public MessageStream<Request, Response> {
 public:
  // `method` with its service: "/package.Service/Method".
  GrpcStream(const std::shared_ptr<grpc::Channel>& channel, std::string method,
             const std::stop_token& stop)
      : method_(std::move(method)), call_(*this) {
    grpc::TemplatedGenericStub<Request, grpc::ByteBuffer>(channel)
        .PrepareBidiStreamingCall(&context_, method_, {}, &call_);
    call_.AddHold();
    call_.StartCall();
    on_stop_.emplace(stop, CancelCall{&context_});
  }

  ~GrpcStream() override {
    on_stop_.reset();
    context_.TryCancel();
    ReleaseHold();
    MutexLock lock(mutex_);
    while (!status_.has_value()) changed_.Wait(mutex_);
  }

  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  void Write(const Request& message) override {
    MutexLock lock(mutex_);
    if (held_ && !writes_done_) {
      queue_.push_back(message);
      StartNextWrite();
    }
  }

  void WritesDone() override {
    MutexLock lock(mutex_);
    if (held_ && !writes_done_) {
      writes_done_ = true;
      StartNextWrite();
    }
  }

  void AwaitUnsentBelow(size_t messages) override {
    MutexLock lock(mutex_);
    while (held_ && queue_.size() >= messages) changed_.Wait(mutex_);
  }

  size_t unsent() const override {
    MutexLock lock(mutex_);
    return queue_.size();
  }

  bool Read(Response& message) override {
    grpc::ByteBuffer bytes;
    if (ReadBytes(bytes)) {
      absl::Status read = ReadAnswer(method_, bytes, message);
      if (read.ok()) return true;
      // The server may have more to say.
      context_.TryCancel();
      MutexLock lock(mutex_);
      broken_ = std::move(read);
    }
    ReleaseHold();
    return false;
  }

  absl::Status Finish() override {
    ReleaseHold();
    MutexLock lock(mutex_);
    while (!status_.has_value()) changed_.Wait(mutex_);
    return broken_.ok() ? *status_ : broken_;
  }

 private:
  struct CancelCall {
    grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };

  class Call final : public grpc::ClientBidiReactor<Request, grpc::ByteBuffer> {
   public:
    explicit Call(GrpcStream& stream) : stream_(stream) {}
    void OnReadInitialMetadataDone(bool ok) override { stream_.OnBegun(ok); }
    void OnReadDone(bool ok) override { stream_.OnRead(ok); }
    void OnWriteDone(bool ok) override { stream_.OnWritten(ok); }
    void OnDone(const grpc::Status& status) override { stream_.OnDone(status); }

   private:
    GrpcStream& stream_;
  };

  bool ReadBytes(grpc::ByteBuffer& bytes) {
    MutexLock lock(mutex_);
    if (!held_) return false;
    read_.reset();
    call_.StartRead(&bytes);
    while (!read_.has_value()) changed_.Wait(mutex_);
    // Of a call that a proxy answers with an error of HTTP's, gRPC hands out the page
    // that comes with it as a message.
    while (*read_ && !begun_.has_value()) changed_.Wait(mutex_);
    return *read_ && *begun_;
  }

  // After which no operation is started. The call is finished, and OnDone comes, when
  // those under way have ended.
  void ReleaseHold() {
    {
      MutexLock lock(mutex_);
      if (!held_) return;
      held_ = false;
      changed_.SignalAll();
    }
    call_.RemoveHold();
  }

  void StartNextWrite() EVENPACK_REQUIRES(mutex_) {
    if (writing_ || !held_) return;
    if (!queue_.empty()) {
      writing_ = true;
      call_.StartWrite(&queue_.front());
    } else if (writes_done_ && !half_closed_) {
      half_closed_ = true;
      call_.StartWritesDone();
    }
  }

  void OnBegun(bool ok) {
    MutexLock lock(mutex_);
    begun_ = ok;
    changed_.SignalAll();
  }

  void OnRead(bool ok) {
    MutexLock lock(mutex_);
    read_ = ok;
    changed_.SignalAll();
  }

  void OnWritten(bool ok) {
    MutexLock lock(mutex_);
    writing_ = false;
    queue_.pop_front();
    // The call is broken, which Read learns too.
    if (!ok) queue_.clear();
    StartNextWrite();
    changed_.SignalAll();
  }

  void OnDone(const grpc::Status& status) {
    MutexLock lock(mutex_);
    status_ = FromGrpcStatus(status);
    changed_.SignalAll();
  }

  const std::string method_;
  grpc::ClientContext context_;
  Call call_;
  std::optional<std::stop_callback<CancelCall>> on_stop_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool held_ EVENPACK_GUARDED_BY(mutex_) = true;
  // The front is under way while writing_.
  std::deque<Request> queue_ EVENPACK_GUARDED_BY(mutex_);
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool writes_done_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Whether the call has the headers of an answer of gRPC's.
  std::optional<bool> begun_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<bool> read_ EVENPACK_GUARDED_BY(mutex_);
  // Why what came last is no message.
  absl::Status broken_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> status_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GRPC_STREAM_H_
