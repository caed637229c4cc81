#include "tests/bench/service/traffic.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/runtime/mutex.h"
#include "tests/bench/service/bench_job.h"
#include "tests/bench/service/subscribers.h"

namespace evenpack::bench {
namespace {

constexpr size_t kMessage = 64;
constexpr std::chrono::seconds kPatience{30};

grpc::Status AskForJob(v1::PackingService::Stub& stub, const std::string& name) {
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(name);
  v1::GetJobResponse response;
  return stub.GetJob(&context, request, &response);
}

// The one that tells of the job.
const std::string& LeaderOf(const std::string& name,
                            const std::vector<std::string>& servers) {
  const TimePoint end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    grpc::Status status;
    for (const std::string& server : servers) {
      status = AskForJob(*Connect(server), name);
      if (status.ok()) return server;
    }
    if (std::chrono::steady_clock::now() > end) EndWith(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

class Traffic::Producer final
    : public grpc::ClientBidiReactor<v1::IngestRequest, v1::IngestResponse> {
 public:
  Producer(const std::string& server, const std::string& job, uint64_t under_way)
      : stub_(Connect(server)), under_way_(under_way * kMessage) {
    stub_->async()->Ingest(&context_, this);
    request_.mutable_open()->set_job(job);
    request_.mutable_open()->set_stream("a");
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }

  // Waits for the call's end.
  ~Producer() override {
    MutexLock lock(mutex_);
    ending_ = true;
    context_.TryCancel();
    while (!ended_) changed_.Wait(mutex_);
  }

  uint64_t acknowledged() const { return acknowledged_; }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    {
      MutexLock lock(mutex_);
      writing_ = false;
    }
    SendMore();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    acknowledged_ = response_.next_sequence();
    SendMore();
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    MutexLock lock(mutex_);
    if (!ending_) EndWith(status);
    ended_ = true;
    changed_.SignalAll();
  }

 private:
  void SendMore() {
    {
      MutexLock lock(mutex_);
      if (writing_ || sent_ + kMessage > acknowledged_ + under_way_) return;
      writing_ = true;
      request_ = BatchOf(sent_, kMessage);
      sent_ += kMessage;
    }
    StartWrite(&request_);
  }

  const std::unique_ptr<v1::PackingService::Stub> stub_;
  const uint64_t under_way_;
  grpc::ClientContext context_;
  v1::IngestResponse response_;
  std::atomic<uint64_t> acknowledged_ = 0;
  Mutex mutex_;
  CondVar changed_;
  // Of the write under way.
  v1::IngestRequest request_;
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = true;
  uint64_t sent_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool ended_ EVENPACK_GUARDED_BY(mutex_) = false;
};

struct Traffic::Job {
  Job(const std::string& server, const std::string& name, uint64_t under_way)
      : consumer({.address = server, .job = name}), producer(server, name, under_way) {}

  Subscribers consumer;
  Producer producer;
};

Traffic::Traffic(const Options& options) {
  std::vector<std::string> names;
  for (size_t i = 0; i < options.jobs; ++i) {
    names.push_back(absl::StrCat("bench-", i));
    const auto stub = Connect(options.servers[i % options.servers.size()]);
    CreateJob(*stub, {.name = names.back(), .micro_batches_per_rank = 4});
  }
  for (const std::string& name : names) {
    jobs_.push_back(std::make_unique<Job>(LeaderOf(name, options.servers), name,
                                          options.under_way));
  }
}

Traffic::~Traffic() = default;

uint64_t Traffic::documents() const {
  uint64_t sum = 0;
  for (const auto& job : jobs_) sum += job->producer.acknowledged();
  return sum;
}

uint64_t Traffic::documents_of_the_slowest() const {
  uint64_t least = jobs_.front()->producer.acknowledged();
  for (const auto& job : jobs_) least = std::min(least, job->producer.acknowledged());
  return least;
}

}  // namespace evenpack::bench
