// What evenpack-server takes where it stands alone in its process. Prints JSON.
//   process_bench cold SERVER SUBSCRIBERS        all connect at once and want a step
//   process_bench load SERVER DOCUMENTS SECONDS  so many documents a second
//   process_bench age SERVER FILE STEPS          a store's file and restarts as a job
//                                                grows old
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "tests/bench/service/server_process.h"
#include "tests/bench/service/subscribers.h"
#include "tests/testing/given_lengths.h"

namespace evenpack::bench {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint32_t kContextParallel = 16;

[[noreturn]] void Fail(const grpc::Status& status) {
  std::fprintf(stderr, "process_bench: %s\n", status.error_message().c_str());
  std::exit(1);
}

double SecondsSince(TimePoint start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

std::unique_ptr<v1::PackingService::Stub> Connect(const std::string& address) {
  return v1::PackingService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

void CreateJob(v1::PackingService::Stub& stub, uint32_t data_parallel,
               uint32_t micro_batches_per_rank, uint32_t context_parallel) {
  v1::CreateJobRequest request;
  request.set_name("bench");
  v1::JobSpec& spec = *request.mutable_spec();
  spec.add_streams()->set_name("a");
  spec.set_window(kWindow);
  spec.set_max_length(kWindow + kWindow / 2);
  spec.set_split_overlong(true);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(49152);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(98304);
  spec.mutable_parallelism()->set_data(data_parallel);
  spec.mutable_parallelism()->set_micro_batches_per_rank(micro_batches_per_rank);
  spec.mutable_parallelism()->set_context(context_parallel);
  grpc::ClientContext context;
  v1::CreateJobResponse response;
  const grpc::Status status = stub.CreateJob(&context, request, &response);
  if (!status.ok()) Fail(status);
}

// One producer, each of whose batches waits for its answer.
class Producer {
 public:
  explicit Producer(v1::PackingService::Stub& stub, uint64_t first = 0)
      : call_(stub.Ingest(&context_)), sequence_(first) {
    v1::IngestRequest open;
    open.mutable_open()->set_job("bench");
    open.mutable_open()->set_stream("a");
    Exchange(open);
  }

  void Send(size_t documents) {
    const std::vector<uint32_t>& lengths = testing::GivenLengths();
    v1::IngestRequest request;
    request.mutable_batch()->set_first_sequence(sequence_);
    for (size_t i = 0; i < documents; ++i) {
      request.mutable_batch()->add_length(lengths[sequence_++ % lengths.size()]);
    }
    Exchange(request);
  }

  ~Producer() {
    call_->WritesDone();
    v1::IngestResponse response;
    while (call_->Read(&response)) {
    }
    call_->Finish();
  }

 private:
  void Exchange(const v1::IngestRequest& request) {
    v1::IngestResponse response;
    if (!call_->Write(request) || !call_->Read(&response)) Fail(call_->Finish());
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>>
      call_;
  uint64_t sequence_;
};

uint64_t StepsOf(v1::PackingService::Stub& stub) {
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name("bench");
  v1::GetJobResponse response;
  const grpc::Status status = stub.GetJob(&context, request, &response);
  if (!status.ok()) Fail(status);
  return response.job().next_step();
}

void Cold(const std::string& program, size_t count) {
  const auto ranks = static_cast<uint32_t>(count);
  const uint32_t context_parallel = std::min(ranks, kContextParallel);
  const uint32_t data_parallel = ranks / context_parallel;
  const ServerProcess server(program);
  const auto stub = Connect(server.address());
  CreateJob(*stub, data_parallel, 1, context_parallel);
  {
    Producer producer(*stub);
    while (StepsOf(*stub) == 0) producer.Send(4096);
  }
  const ServerProcess::Usage before = server.Now();
  const TimePoint start = std::chrono::steady_clock::now();
  const Subscribers subscribers({.address = server.address(),
                                 .count = count,
                                 .connections = count,
                                 .data_parallel = data_parallel,
                                 .context_parallel = context_parallel});
  subscribers.WaitFor(1);
  const double seconds = SecondsSince(start);
  const ServerProcess::Usage after = server.Now();
  std::printf(
      "{\"bench\": \"cold\", \"subscribers\": %zu, \"seconds\": %.2f, "
      "\"server_processor_seconds\": %.2f, \"server_mib_before\": %.0f, "
      "\"server_mib\": %.0f, \"bytes_a_step\": %.0f}\n",
      count, seconds, after.processor_seconds - before.processor_seconds,
      before.resident_mib, after.resident_mib,
      static_cast<double>(subscribers.bytes()) / static_cast<double>(count));
}

// A job of N = 4 with a subscriber for each of two DP ranks.
void Load(const std::string& program, size_t documents, int seconds) {
  const ServerProcess server(program);
  const auto stub = Connect(server.address());
  CreateJob(*stub, 2, 2, 1);
  const Subscribers subscribers(
      {.address = server.address(), .count = 2, .data_parallel = 2});
  subscribers.WaitUntilSubscribed();
  Producer producer(*stub);
  // Eight messages a second.
  constexpr int kMessages = 8;
  const ServerProcess::Usage before = server.Now();
  const TimePoint start = std::chrono::steady_clock::now();
  for (int i = 1; i <= seconds * kMessages; ++i) {
    producer.Send(documents / kMessages);
    std::this_thread::sleep_until(start + i * std::chrono::milliseconds(125));
  }
  const double elapsed = SecondsSince(start);
  const ServerProcess::Usage after = server.Now();
  const uint64_t steps = StepsOf(*stub);
  subscribers.WaitFor(steps);
  std::printf(
      "{\"bench\": \"load\", \"documents_per_second\": %zu, \"seconds\": %.1f, "
      "\"steps\": %llu, \"server_processor_share\": %.5f, \"server_mib\": %.0f}\n",
      documents / kMessages * kMessages, elapsed,
      static_cast<unsigned long long>(steps),
      (after.processor_seconds - before.processor_seconds) / elapsed,
      after.resident_mib);
}

double MebibytesOf(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<double>(size) / (1 << 20);
}

// Ten times: a tenth of the steps, each made durable by two ranks; then the server is
// killed and started again.
void Age(const std::string& program, const std::string& file, uint64_t steps) {
  constexpr uint64_t kParts = 10;
  constexpr size_t kBatch = 64;
  const std::string store = "sqlite:" + file;
  uint64_t documents = 0;
  for (uint64_t part = 1; part <= kParts; ++part) {
    const TimePoint start = std::chrono::steady_clock::now();
    ServerProcess server(program, store);
    const double restart_seconds = SecondsSince(start);
    const auto stub = Connect(server.address());
    if (part == 1) CreateJob(*stub, 2, 2, 1);
    const Subscribers subscribers(
        {.address = server.address(), .count = 2, .data_parallel = 2});
    subscribers.WaitUntilSubscribed();
    Producer producer(*stub, documents);
    const TimePoint running = std::chrono::steady_clock::now();
    const uint64_t before = documents;
    while (StepsOf(*stub) < steps * part / kParts) {
      for (int i = 0; i < 200; ++i) producer.Send(kBatch);
      documents += 200 * kBatch;
    }
    const double rate = static_cast<double>(documents - before) / SecondsSince(running);
    const double resident = server.Now().resident_mib;
    const uint64_t decided = StepsOf(*stub);
    server.Kill();
    std::printf(
        "{\"bench\": \"age\", \"steps\": %llu, \"restart_seconds\": %.3f, "
        "\"file_mib\": %.1f, \"log_mib\": %.1f, \"server_mib\": %.0f, "
        "\"documents_per_second\": %.0f}\n",
        static_cast<unsigned long long>(decided), restart_seconds, MebibytesOf(file),
        MebibytesOf(file + "-wal"), resident, rate);
  }
}

}  // namespace
}  // namespace evenpack::bench

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "cold" && argc == 4) {
    evenpack::bench::Cold(argv[2], std::strtoul(argv[3], nullptr, 10));
  } else if (mode == "load" && argc == 5) {
    evenpack::bench::Load(argv[2], std::strtoul(argv[3], nullptr, 10),
                          std::atoi(argv[4]));
  } else if (mode == "age" && argc == 5) {
    evenpack::bench::Age(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
  } else {
    std::fprintf(stderr,
                 "process_bench: accepted: cold SERVER SUBSCRIBERS, load SERVER "
                 "DOCUMENTS SECONDS, or age SERVER FILE STEPS\n");
    return 2;
  }
  return 0;
}
