#include "server/app/call_counting.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"

namespace evenpack {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

// What the library keeps of a header field beside its bytes (RFC 7541, section 4.1).
constexpr size_t kFieldBytes = 32;
// Frames around a call's beginning or a message, each perhaps in a TLS record of its
// own.
constexpr size_t kFrameBytes = 512;

size_t BytesOfFields(const grpc::ServerContextBase& context) {
  size_t bytes = kFrameBytes;
  for (const auto& [name, value] : context.client_metadata()) {
    bytes += name.size() + value.size() + kFieldBytes;
  }
  return bytes;
}

// Of gRPC's own services (health, reflection, channelz) a connection may have so many
// calls at a time. They ask for no role, last as long as who makes them likes, and take
// some 20 KB each, those of reflection a thread: no other bound holds for them.
constexpr int64_t kMostCallsOfGrpc = 16;

bool IsOfGrpc(const ServerRpcInfo& call) {
  return !absl::StartsWith(call.method(), "/evenpack.");
}

// At least what the message took of its connection.
size_t BytesOfMessage(const ServerRpcInfo& call, void* message) {
  size_t bytes = 0;
  // The libraries' own services get small ones.
  if (message != nullptr && !IsOfGrpc(call)) {
    // Streams read theirs themselves (server/service/message_bytes.h).
    bytes = call.type() == ServerRpcInfo::Type::UNARY
                ? static_cast<google::protobuf::Message*>(message)->ByteSizeLong()
                : static_cast<grpc::ByteBuffer*>(message)->Length();
  }
  // Frames and records are of 8 KiB and more where a message is long.
  return bytes + bytes / 64 + kFrameBytes;
}

// Of one call.
class CountingInterceptor final : public grpc::experimental::Interceptor {
 public:
  CountingInterceptor(ServerRpcInfo* call, const CountsOfPeer& counts_of)
      : call_(call), counts_of_(counts_of) {}
  ~CountingInterceptor() override {
    if (counts_ == nullptr) return;
    --counts_->open;
    if (IsOfGrpc(*call_)) --counts_->open_of_grpc;
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    using Point = InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) {
      counts_ = counts_of_(call_->server_context()->peer());
      if (counts_ != nullptr) Begin();
    }
    if (counts_ != nullptr &&
        methods->QueryInterceptionHookPoint(Point::POST_RECV_MESSAGE)) {
      counts_->claimed += BytesOfMessage(*call_, methods->GetRecvMessage());
    }
    methods->Proceed();
  }

 private:
  void Begin() {
    ++counts_->open;
    counts_->claimed += BytesOfFields(*call_->server_context());
    if (IsOfGrpc(*call_) && ++counts_->open_of_grpc > kMostCallsOfGrpc) {
      call_->server_context()->TryCancel();
    }
  }

  ServerRpcInfo* const call_;
  const CountsOfPeer& counts_of_;
  std::shared_ptr<CallCounts> counts_;
};

class CountingInterceptors final : public ServerInterceptorFactoryInterface {
 public:
  explicit CountingInterceptors(CountsOfPeer counts_of)
      : counts_of_(std::move(counts_of)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* call) override {
    return std::make_unique<CountingInterceptor>(call, counts_of_).release();
  }

 private:
  const CountsOfPeer counts_of_;
};

}  // namespace

std::unique_ptr<ServerInterceptorFactoryInterface> CountCalls(CountsOfPeer counts_of) {
  return std::make_unique<CountingInterceptors>(std::move(counts_of));
}

}  // namespace evenpack
