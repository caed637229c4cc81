// A streaming call between a client and a server's handler, without gRPC between them:
// each thing that a network does comes about when a test says so.
#ifndef EVENPACK_TESTS_TESTING_STEPPED_CALL_H_
#define EVENPACK_TESTS_TESTING_STEPPED_CALL_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Whether a client's thread waits for the network, or for time to pass: then nothing
// changes before the test does something.
class RestingMark {
 public:
  bool rests() const { return rests_; }
  void Set(bool rests) { rests_ = rests; }

 private:
  std::atomic<bool> rests_ = false;
};

// Thread-safe. The client's end is used by the client, the server's by its handler, and
// what is in between by the test's thread. The handler is called by the test's thread
// alone.
class SteppedCall final
    : public grpc::ServerCallbackReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
  // Starts the handler of the call.
  using Handler = std::function<Reactor*(const grpc::ServerContextBase&)>;

  explicit SteppedCall(RestingMark& mark) : mark_(mark) {}

  // --- What the network does. Each returns whether there was something to do.

  // The server hears of the call.
  bool Accept(const Handler& handler);
  // No server is there.
  bool Refuse();
  // The server gets the next message, or hears that there is none.
  bool Upload();
  // The server's message is on its way.
  bool CompleteWrite();
  // The handler is done with the call, whose end is on its way.
  bool Conclude();
  // The client gets the next message, or the end.
  bool Download();
  // The client loses the call; the server doesn't know yet.
  bool Cut();
  // The server learns that the client is gone: one of what that brings about.
  bool Notice();

  // The client has no more to do with it, and neither has the server.
  bool is_over() const {
    MutexLock lock(mutex_);
    return client_left_ && done_;
  }
  bool is_accepted() const {
    MutexLock lock(mutex_);
    return accepted_;
  }
  bool is_done() const {
    MutexLock lock(mutex_);
    return done_;
  }
  // The client's end is still there, and was told of no end.
  bool is_open() const {
    MutexLock lock(mutex_);
    return !client_left_ && !end_.has_value();
  }

  // --- The client's end.

  void ClientWrite(grpc::ByteBuffer message) {
    MutexLock lock(mutex_);
    if (half_closed_ || ClientIsGone()) return;
    to_server_.push_back(std::move(message));
  }
  void ClientWritesDone() {
    MutexLock lock(mutex_);
    half_closed_ |= !ClientIsGone();
  }
  bool ClientRead(grpc::ByteBuffer& message);
  grpc::Status ClientFinish();
  void ClientCancel();
  void ClientLeave() {
    MutexLock lock(mutex_);
    client_left_ = true;
  }

  // --- The server's.

  void Finish(grpc::Status status) override {
    MutexLock lock(mutex_);
    finish_ = std::move(status);
  }
  void SendInitialMetadata() override {}
  void Read(grpc::ByteBuffer* message) override {
    MutexLock lock(mutex_);
    read_ = message;
  }
  void Write(const grpc::ByteBuffer* message, grpc::WriteOptions) override {
    MutexLock lock(mutex_);
    write_ = message;
  }
  void WriteAndFinish(const grpc::ByteBuffer*, grpc::WriteOptions,
                      grpc::Status) override {}

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  bool ClientIsGone() const EVENPACK_REQUIRES(mutex_) {
    return cut_ || client_left_ || client_cancelled_;
  }

  RestingMark& mark_;
  grpc::CallbackServerContext context_;
  // Until the call is done at the server; of the test's thread.
  Reactor* reactor_ = nullptr;

  mutable Mutex mutex_;
  CondVar changed_;
  // On their way.
  std::deque<grpc::ByteBuffer> to_server_ EVENPACK_GUARDED_BY(mutex_);
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::deque<grpc::ByteBuffer> to_client_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_to_client_ EVENPACK_GUARDED_BY(mutex_);
  // At the client.
  std::deque<grpc::ByteBuffer> delivered_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ EVENPACK_GUARDED_BY(mutex_);
  bool client_cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool client_left_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool cut_ EVENPACK_GUARDED_BY(mutex_) = false;
  // At the server.
  bool accepted_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool told_half_close_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool told_cancel_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool done_ EVENPACK_GUARDED_BY(mutex_) = false;
  grpc::ByteBuffer* read_ EVENPACK_GUARDED_BY(mutex_) = nullptr;
  const grpc::ByteBuffer* write_ EVENPACK_GUARDED_BY(mutex_) = nullptr;
  std::optional<grpc::Status> finish_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_STEPPED_CALL_H_
