#include "client/agent/forwarded_call.h"

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/agent/hidden_leaders.h"
#include "client/agent/job_of_call.h"
#include "client/agent/status_relay.h"
#include "client/cpp/grpc_status.h"
#include "client/cpp/route.h"
#include "server/runtime/mutex.h"

namespace evenpack::agent {
namespace {

constexpr char kListJobs[] = "/evenpack.v1.PackingService/ListJobs";
// What is kept of a client's messages beside the first, until there is an answer. A
// client that says more before it has one is not sent to another server.
constexpr size_t kMostKeptBytes = size_t{1} << 20;

std::string TextOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// What gRPC itself says about a connection or a call, and says anew upstream.
bool IsTransports(const std::string& key) {
  return absl::StartsWith(key, ":") || absl::StartsWith(key, "grpc-") ||
         key == "user-agent" || key == "content-type" || key == "te" || key == "host";
}

// The agent speaks for its clients, and says itself who it is.
bool IsPassedOn(const std::string& key) {
  return !IsTransports(key) && key != "authorization";
}

// Two calls, whose ends hold this object until both are done. Reading from one goes on
// when what was read has been written to the other.
class ForwardedCall : public std::enable_shared_from_this<ForwardedCall> {
 public:
  ForwardedCall(Upstream& upstream, grpc::GenericCallbackServerContext& context)
      : upstream_(upstream), context_(context), down_(*this) {
    for (const auto& [key, value] : context.client_metadata()) {
      const std::string name = TextOf(key);
      if (IsPassedOn(name)) metadata_.emplace_back(name, TextOf(value));
    }
  }

  grpc::ServerGenericBidiReactor* Start() {
    down_.self = shared_from_this();
    down_.StartRead(&from_client_);
    return &down_;
  }

 private:
  // The client's end.
  class Down final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Down(ForwardedCall& call) : call_(call) {}
    void OnReadDone(bool ok) override { call_.ClientSaid(ok); }
    void OnWriteDone(bool ok) override { call_.ClientWasTold(ok); }
    void OnCancel() override { call_.ClientIsGone(); }
    void OnDone() override { const auto last = std::move(self); }

    std::shared_ptr<ForwardedCall> self;

   private:
    ForwardedCall& call_;
  };

  // The end of one server that is asked.
  class Up final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    Up(std::shared_ptr<ForwardedCall> call, std::shared_ptr<UpstreamServer> server)
        : server_(std::move(server)), call_(std::move(call)) {}

    void Start(const std::shared_ptr<Up>& self) {
      self_ = self;
      for (const auto& [name, value] : call_->metadata_) {
        context.AddMetadata(name, value);
      }
      context.set_deadline(call_->context_.deadline());
      server_->forwarded.PrepareBidiStreamingCall(&context, call_->context_.method(),
                                                  {}, this);
      AddHold();
      StartCall();
    }

    void OnReadInitialMetadataDone(bool /*ok*/) override { call_->ReadFromServer(); }
    void OnReadDone(bool ok) override { call_->ServerSaid(ok); }
    void OnWriteDone(bool ok) override { call_->ServerWasTold(ok); }
    void OnDone(const grpc::Status& status) override {
      const auto last = std::move(self_);
      const auto call = std::move(call_);
      call->ServerEnded(*this, status);
    }

    grpc::ClientContext context;

   private:
    const std::shared_ptr<UpstreamServer> server_;
    // Both until the call is done.
    std::shared_ptr<ForwardedCall> call_;
    std::shared_ptr<Up> self_;
  };

  void ClientSaid(bool ok) {
    bool too_late = false;
    {
      MutexLock lock(mutex_);
      reading_client_ = false;
      too_late = cancelled_ && up_ == nullptr;
      if (ok) {
        Keep();
      } else {
        client_done_ = true;
      }
      if (!too_late && !route_.has_value()) {
        route_.emplace(upstream_.leaders(),
                       ok ? JobOfCall(context_.method(), said_.front()) : "");
        Ask();
      }
      if (!too_late) SayNext();
    }
    if (too_late) down_.Finish({grpc::StatusCode::CANCELLED, "the client is gone"});
  }

  void ClientIsGone() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    if (up_ != nullptr) up_->context.TryCancel();
  }

  void Keep() EVENPACK_REQUIRES(mutex_) {
    said_.emplace_back();
    said_.back().Swap(&from_client_);
    said_bytes_ += said_.size() == 1 ? 0 : said_.back().Length();
    if (said_bytes_ > kMostKeptBytes) repeatable_ = false;
  }

  // Begins with the server that the route is at.
  void Ask() EVENPACK_REQUIRES(mutex_) {
    up_ = std::make_shared<Up>(shared_from_this(), upstream_.At(route_->address()));
    held_ = true;
    writing_ = half_closed_ = false;
    sent_ = 0;
    up_->Start(up_);
  }

  // The hold keeps the call upstream from being finished under an operation that the
  // client's end is about to start; the reads from upstream are within it.
  void SayNext() EVENPACK_REQUIRES(mutex_) {
    if (!held_ || writing_) return;
    if (sent_ < said_.size()) {
      writing_ = true;
      up_->StartWrite(&said_[sent_]);
    } else if (client_done_) {
      if (!std::exchange(half_closed_, true)) up_->StartWritesDone();
    } else if (!std::exchange(reading_client_, true)) {
      down_.StartRead(&from_client_);
    }
  }

  void ServerWasTold(bool ok) {
    MutexLock lock(mutex_);
    writing_ = false;
    // Otherwise the call upstream is over, which its status says.
    if (!ok) return;
    ++sent_;
    if (!repeatable_) Forget();
    SayNext();
  }

  // What was said and won't be said again.
  void Forget() EVENPACK_REQUIRES(mutex_) {
    for (; sent_ > 0; --sent_) said_.pop_front();
  }

  void ReadFromServer() {
    std::shared_ptr<Up> up;
    {
      MutexLock lock(mutex_);
      up = up_;
    }
    up->StartRead(&from_server_);
  }

  void ServerSaid(bool ok) {
    std::shared_ptr<Up> up;
    {
      MutexLock lock(mutex_);
      up = up_;
      held_ = held_ && ok;
      if (ok) {
        repeatable_ = false;
        Forget();
      }
    }
    if (!ok) return up->RemoveHold();
    if (context_.method() == kListJobs) {
      from_server_ = WithoutAddresses(from_server_, upstream_.leaders());
    }
    down_.StartWrite(&from_server_);
  }

  void ClientWasTold(bool ok) {
    if (!ok) ClientIsGone();
    ReadFromServer();
  }

  void ServerEnded(const Up& up, const grpc::Status& status) {
    {
      MutexLock lock(mutex_);
      const bool goes_on =
          !status.ok() && !cancelled_ && route_->Follow(client::FromGrpcStatus(status));
      if (goes_on && repeatable_) {
        Ask();
        return SayNext();
      }
    }
    End(up, status);
  }

  // With the server's metadata; its status details are in the status.
  void End(const Up& up, const grpc::Status& status) {
    for (const auto& [key, value] : up.context.GetServerTrailingMetadata()) {
      const std::string name = TextOf(key);
      if (!IsTransports(name)) context_.AddTrailingMetadata(name, TextOf(value));
    }
    const absl::Status said = client::FromGrpcStatus(status);
    down_.Finish(client::IsRedirect(said) ? Relayed(WithoutLeader(said)) : status);
  }

  Upstream& upstream_;
  grpc::GenericCallbackServerContext& context_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  grpc::ByteBuffer from_client_;
  grpc::ByteBuffer from_server_;
  Down down_;

  Mutex mutex_;
  std::optional<client::Route> route_ EVENPACK_GUARDED_BY(mutex_);
  // The one that is asked, or was asked last; null before the first.
  std::shared_ptr<Up> up_ EVENPACK_GUARDED_BY(mutex_);
  bool held_ EVENPACK_GUARDED_BY(mutex_) = false;
  // What the client said, as long as it may have to be said again; sent_ of it was
  // sent.
  std::deque<grpc::ByteBuffer> said_ EVENPACK_GUARDED_BY(mutex_);
  size_t said_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t sent_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool repeatable_ EVENPACK_GUARDED_BY(mutex_) = true;
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool reading_client_ EVENPACK_GUARDED_BY(mutex_) = true;
  bool client_done_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerGenericBidiReactor* StartForwardedCall(
    Upstream& upstream, grpc::GenericCallbackServerContext& context) {
  return std::make_shared<ForwardedCall>(upstream, context)->Start();
}

}  // namespace evenpack::agent
