#include "client/agent/forwarded_call.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "server/runtime/mutex.h"

namespace evenpack::agent {
namespace {

std::string TextOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// What gRPC itself says about a connection or a call, and says anew upstream.
bool IsTransports(const std::string& key) {
  return absl::StartsWith(key, ":") || absl::StartsWith(key, "grpc-") ||
         key == "user-agent" || key == "content-type" || key == "te" || key == "host";
}

// Two calls, whose ends hold this object until both are done. Reading from one goes on
// when what was read has been written to the other.
class ForwardedCall {
 public:
  explicit ForwardedCall(grpc::GenericCallbackServerContext& context)
      : down_(*this, context), up_(*this) {
    for (const auto& [key, value] : context.client_metadata()) {
      const std::string name = TextOf(key);
      if (!IsTransports(name)) upstream_.AddMetadata(name, TextOf(value));
    }
    upstream_.set_deadline(context.deadline());
  }

  grpc::ServerGenericBidiReactor* Start(grpc::GenericStub& stub,
                                        const std::string& method,
                                        const std::shared_ptr<ForwardedCall>& self) {
    down_.self = self;
    up_.self = self;
    stub.PrepareBidiStreamingCall(&upstream_, method, {}, &up_);
    up_.AddHold();
    up_.StartCall();
    down_.StartRead(&from_client_);
    return &down_;
  }

 private:
  // The client's end.
  class Down final : public grpc::ServerGenericBidiReactor {
   public:
    Down(ForwardedCall& call, grpc::GenericCallbackServerContext& context)
        : call_(call), context_(context) {}
    void OnReadDone(bool ok) override { call_.ClientSaid(ok); }
    void OnWriteDone(bool ok) override { call_.ClientWasTold(ok); }
    void OnCancel() override { call_.upstream_.TryCancel(); }
    // With the server's metadata; its status details are in the status.
    void End(const grpc::Status& status) {
      for (const auto& [key, value] : call_.upstream_.GetServerTrailingMetadata()) {
        const std::string name = TextOf(key);
        if (!IsTransports(name)) context_.AddTrailingMetadata(name, TextOf(value));
      }
      Finish(status);
    }
    void OnDone() override { const auto last = std::move(self); }

    std::shared_ptr<ForwardedCall> self;

   private:
    ForwardedCall& call_;
    grpc::GenericCallbackServerContext& context_;
  };

  // The server's end.
  class Up final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Up(ForwardedCall& call) : call_(call) {}
    void OnReadInitialMetadataDone(bool /*ok*/) override { call_.ReadFromServer(); }
    void OnReadDone(bool ok) override { call_.ServerSaid(ok); }
    void OnWriteDone(bool ok) override { call_.ServerWasTold(ok); }
    void OnDone(const grpc::Status& status) override {
      const auto last = std::move(self);
      call_.down_.End(status);
    }

    std::shared_ptr<ForwardedCall> self;

   private:
    ForwardedCall& call_;
  };

  // The hold keeps the call upstream from being finished under an operation that the
  // client's end is about to start; the reads from upstream are within it.
  void ClientSaid(bool ok) {
    MutexLock lock(mutex_);
    if (!held_) return;
    if (ok) {
      up_.StartWrite(&from_client_);
    } else {
      up_.StartWritesDone();
    }
  }
  void ServerWasTold(bool ok) {
    // Otherwise the call upstream is over, which its status says.
    if (ok) down_.StartRead(&from_client_);
  }
  void ReadFromServer() { up_.StartRead(&from_server_); }
  void ServerSaid(bool ok) {
    if (ok) return down_.StartWrite(&from_server_);
    {
      MutexLock lock(mutex_);
      held_ = false;
    }
    up_.RemoveHold();
  }
  void ClientWasTold(bool ok) {
    if (!ok) upstream_.TryCancel();
    ReadFromServer();
  }

  grpc::ClientContext upstream_;
  grpc::ByteBuffer from_client_;
  grpc::ByteBuffer from_server_;
  Down down_;
  Up up_;
  Mutex mutex_;
  bool held_ EVENPACK_GUARDED_BY(mutex_) = true;
};

}  // namespace

grpc::ServerGenericBidiReactor* StartForwardedCall(
    grpc::GenericStub& stub, grpc::GenericCallbackServerContext& context) {
  const auto call = std::make_shared<ForwardedCall>(context);
  return call->Start(stub, context.method(), call);
}

}  // namespace evenpack::agent
