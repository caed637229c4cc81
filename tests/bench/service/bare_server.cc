#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <atomic>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/runtime/mutex.h"
#include "tests/bench/service/bench_server.h"

namespace evenpack::bench {
namespace {

using Bytes = grpc::ByteBuffer;
using Context = grpc::CallbackServerContext;

// As gRPC does for every message that is written.
Bytes Encode(const v1::StreamStepsResponse& response) {
  Bytes bytes;
  bool own = false;
  grpc::SerializationTraits<v1::StreamStepsResponse>::Serialize(response, &bytes, &own);
  return bytes;
}

class BareIngest final
    : public grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse> {
 public:
  // `on_documents` is told how many there are so far.
  explicit BareIngest(std::function<void(uint64_t)> on_documents)
      : on_documents_(std::move(on_documents)) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    documents_ += static_cast<uint64_t>(request_.batch().length_size());
    on_documents_(documents_);
    response_.set_next_sequence(documents_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const std::function<void(uint64_t)> on_documents_;
  v1::IngestRequest request_;
  v1::IngestResponse response_;
  uint64_t documents_ = 0;
};

// Ends when the client does.
class BareSteps final : public grpc::ServerBidiReactor<Bytes, Bytes> {
 public:
  explicit BareSteps(std::atomic<int>& alive) : alive_(alive) {
    ++alive_;
    StartRead(&request_);
  }

  void Send(const Bytes& message) {
    {
      MutexLock lock(mutex_);
      if (finished_) return;
      if (writing_) return waiting_.push_back(message);
      writing_ = true;
      message_ = message;
    }
    StartWrite(&message_);
  }

  void OnReadDone(bool ok) override {
    if (ok) return StartRead(&request_);
    {
      MutexLock lock(mutex_);
      finished_ = true;
      if (writing_) return;
    }
    Finish(grpc::Status::OK);
  }
  void OnWriteDone(bool) override {
    bool finish = false;
    {
      MutexLock lock(mutex_);
      writing_ = !waiting_.empty() && !finished_;
      finish = finished_;
      if (writing_) {
        message_ = waiting_.front();
        waiting_.pop_front();
      }
      if (!writing_ && !finish) return;
    }
    if (finish) return Finish(grpc::Status::OK);
    StartWrite(&message_);
  }
  void OnDone() override { --alive_; }

 private:
  std::atomic<int>& alive_;
  Bytes request_;
  Bytes message_;
  Mutex mutex_;
  std::deque<Bytes> waiting_ EVENPACK_GUARDED_BY(mutex_);
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool finished_ EVENPACK_GUARDED_BY(mutex_) = false;
};

using Base = v1::PackingService::WithCallbackMethod_Ingest<
    v1::PackingService::WithRawCallbackMethod_StreamSteps<v1::PackingService::Service>>;

}  // namespace

struct BareServer::Service final : public Base {
  grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>* Ingest(
      Context*) override {
    return new BareIngest([this](uint64_t documents) {
      for (; documents_a_step > 0 && (sent + 1) * documents_a_step <= documents;
           ++sent) {
        MutexLock lock(mutex);
        for (const auto& call : calls) call->Send(Encode(step));
      }
    });
  }
  grpc::ServerBidiReactor<Bytes, Bytes>* StreamSteps(Context*) override {
    auto call = std::make_unique<BareSteps>(alive);
    BareSteps* started = call.get();
    MutexLock lock(mutex);
    calls.push_back(std::move(call));
    called.SignalAll();
    return started;
  }

  void Send(size_t bytes) {
    const std::string text(bytes, 'x');
    const grpc::Slice slice(text);
    const Bytes message(&slice, 1);
    MutexLock lock(mutex);
    for (const auto& call : calls) call->Send(message);
  }

  uint64_t documents_a_step = 0;
  v1::StreamStepsResponse step;
  uint64_t sent = 0;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::atomic<int> alive = 0;
  Mutex mutex;
  CondVar called;
  std::vector<std::unique_ptr<BareSteps>> calls EVENPACK_GUARDED_BY(mutex);
};

BareServer::BareServer() : BareServer(0, {}) {}

BareServer::BareServer(uint64_t documents_a_step, v1::StreamStepsResponse step)
    : service_(std::make_unique<Service>()) {
  service_->documents_a_step = documents_a_step;
  service_->step = std::move(step);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &service_->port);
  builder.RegisterService(service_.get());
  service_->server = builder.BuildAndStart();
}

BareServer::~BareServer() {
  service_->server->Shutdown(std::chrono::system_clock::now() +
                             std::chrono::seconds(2));
  service_->server->Wait();
}

std::string BareServer::address() const {
  return "127.0.0.1:" + std::to_string(service_->port);
}

void BareServer::WaitForCallers(size_t count) {
  MutexLock lock(service_->mutex);
  while (service_->calls.size() < count) service_->called.Wait(service_->mutex);
}

void BareServer::Send(size_t bytes) { service_->Send(bytes); }

}  // namespace evenpack::bench
