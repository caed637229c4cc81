// The client's end of a call whose messages move when a test says so.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_STEPPED_STREAM_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_STEPPED_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/grpc_status.h"
#include "client/cpp/stub.h"
#include "server/service/message_bytes.h"
#include "tests/testing/stepped_call.h"

namespace evenpack::testing {

// The client's end as its sessions have it.
template <typename Request, typename Response>
class SteppedStream final : public client::MessageStream<Request, Response> {
 public:
  SteppedStream(std::shared_ptr<SteppedCall> call, const std::stop_token& stop)
      : call_(std::move(call)), on_stop_(stop, [this] { call_->ClientCancel(); }) {}
  ~SteppedStream() override { call_->ClientLeave(); }

  void Write(const Request& message) override {
    call_->ClientWrite(MessageBytes(message));
  }
  void WritesDone() override { call_->ClientWritesDone(); }
  void AwaitUnsentBelow(size_t) override {}
  size_t unsent() const override { return 0; }
  bool Read(Response& message) override {
    grpc::ByteBuffer bytes;
    return call_->ClientRead(bytes) && ReadMessage(bytes, message).ok();
  }
  absl::Status Finish() override {
    return client::FromGrpcStatus(call_->ClientFinish());
  }

 private:
  const std::shared_ptr<SteppedCall> call_;
  const std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_STEPPED_STREAM_H_
