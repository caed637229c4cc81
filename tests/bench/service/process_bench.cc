// What evenpack-server takes where it stands alone in its process. Prints JSON.
//   process_bench cold SERVER SUBSCRIBERS        all connect at once and want a step
//   process_bench load SERVER DOCUMENTS SECONDS  so many documents a second
//   process_bench age SERVER FILE STEPS          a store's file and restarts as a job
//                                                grows old
//   process_bench traffic ADDRESSES JOBS UNDER_WAY SECONDS
//                                                many jobs, each with so many messages
//                                                under way, on servers that run:
//                                                HOST:PORT,HOST:PORT; prints a line
//                                                when it begins to measure and one at
//                                                the end
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_split.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "tests/bench/service/bench_job.h"
#include "tests/bench/service/processor_seconds.h"
#include "tests/bench/service/producer.h"
#include "tests/bench/service/server_process.h"
#include "tests/bench/service/subscribers.h"
#include "tests/bench/service/traffic.h"

namespace evenpack::bench {
namespace {

constexpr uint32_t kContextParallel = 16;
// Two DP ranks, N = 4.
const BenchJob kSmallJob = {.data_parallel = 2, .micro_batches_per_rank = 2};

double SecondsSince(TimePoint start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

uint64_t StepsOf(v1::PackingService::Stub& stub) {
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name("bench");
  v1::GetJobResponse response;
  const grpc::Status status = stub.GetJob(&context, request, &response);
  if (!status.ok()) EndWith(status);
  return response.job().next_step();
}

void Cold(const std::string& program, size_t count) {
  const auto ranks = static_cast<uint32_t>(count);
  const uint32_t context_parallel = std::min(ranks, kContextParallel);
  const uint32_t data_parallel = ranks / context_parallel;
  const ServerProcess server(program);
  const auto stub = Connect(server.address());
  CreateJob(*stub, {.data_parallel = data_parallel,
                    .micro_batches_per_rank = 1,
                    .context_parallel = context_parallel});
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
  CreateJob(*stub, kSmallJob);
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
    if (part == 1) CreateJob(*stub, kSmallJob);
    std::optional<Subscribers> subscribers;
    subscribers.emplace(Subscribers::Options{
        .address = server.address(), .count = 2, .data_parallel = 2});
    subscribers->WaitUntilSubscribed();
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
    // They take a call that breaks for the benchmark's end.
    subscribers.reset();
    server.Kill();
    std::printf(
        "{\"bench\": \"age\", \"steps\": %llu, \"restart_seconds\": %.3f, "
        "\"file_mib\": %.1f, \"log_mib\": %.1f, \"server_mib\": %.0f, "
        "\"documents_per_second\": %.0f}\n",
        static_cast<unsigned long long>(decided), restart_seconds, MebibytesOf(file),
        MebibytesOf(file + "-wal"), resident, rate);
  }
}

int WholeNumber(const char* text) {
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

void MeasureTraffic(const Traffic::Options& options, int seconds) {
  constexpr std::chrono::seconds kWarmUp{1};
  const Traffic traffic(options);
  std::this_thread::sleep_for(kWarmUp);
  const uint64_t before = traffic.documents();
  const double processor_before = ProcessorSeconds();
  const TimePoint start = std::chrono::steady_clock::now();
  std::printf("{\"bench\": \"traffic begins\"}\n");
  std::fflush(stdout);
  std::this_thread::sleep_until(start + std::chrono::seconds(seconds));
  const uint64_t after = traffic.documents();
  const double elapsed = SecondsSince(start);
  std::printf(
      "{\"bench\": \"traffic\", \"jobs\": %zu, \"messages_under_way\": %llu, "
      "\"documents_per_second\": %.0f, \"documents_of_the_slowest\": %llu, "
      "\"clients_processor_share\": %.3f}\n",
      options.jobs, static_cast<unsigned long long>(options.under_way),
      static_cast<double>(after - before) / elapsed,
      static_cast<unsigned long long>(traffic.documents_of_the_slowest()),
      (ProcessorSeconds() - processor_before) / elapsed);
  std::fflush(stdout);
}

}  // namespace
}  // namespace evenpack::bench

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  using evenpack::bench::WholeNumber;
  if (mode == "cold" && argc == 4) {
    evenpack::bench::Cold(argv[2], std::strtoul(argv[3], nullptr, 10));
  } else if (mode == "load" && argc == 5) {
    evenpack::bench::Load(argv[2], std::strtoul(argv[3], nullptr, 10),
                          WholeNumber(argv[4]));
  } else if (mode == "age" && argc == 5) {
    evenpack::bench::Age(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
  } else if (mode == "traffic" && argc == 6) {
    evenpack::bench::MeasureTraffic({.servers = absl::StrSplit(argv[2], ','),
                                     .jobs = std::strtoul(argv[3], nullptr, 10),
                                     .under_way = std::strtoul(argv[4], nullptr, 10)},
                                    WholeNumber(argv[5]));
  } else {
    std::fprintf(stderr,
                 "process_bench: accepted: cold SERVER SUBSCRIBERS, load SERVER "
                 "DOCUMENTS SECONDS, age SERVER FILE STEPS, or traffic ADDRESSES JOBS "
                 "UNDER_WAY SECONDS\n");
    return 2;
  }
  return 0;
}
