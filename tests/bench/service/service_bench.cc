// The service against bare gRPC streams that carry the same messages, in one process
// and one run. Prints JSON.
//   service_bench ingest [DOCUMENTS_A_MESSAGE [RUNS [SUBSCRIBERS]]]
//   service_bench fanout SUBSCRIBERS
//   service_bench store FILE [RUNS]   ingest with the store in FILE, against that in
//                                     memory
// Figures are medians of RUNS, 5 unless it is given. With ingest each of SUBSCRIBERS DP
// ranks, 2 unless it is given, takes every step.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/service/step_conversion.h"
#include "tests/bench/service/bench_server.h"
#include "tests/bench/service/processor_seconds.h"
#include "tests/bench/service/subscribers.h"
#include "tests/testing/given_lengths.h"

namespace evenpack::bench {
namespace {

constexpr size_t kDocuments = 2'000'000;
constexpr size_t kRuns = 5;
// As many as give this many arrivals, at least 60.
constexpr size_t kFanoutArrivals = 4000;

double SecondsSince(TimePoint start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The given lengths over and over, in messages of some size.
std::vector<v1::IngestRequest> MakeBatches(size_t documents, size_t a_message) {
  const std::vector<uint32_t>& lengths = testing::GivenLengths();
  std::vector<v1::IngestRequest> batches;
  for (size_t first = 0; first < documents; first += a_message) {
    v1::DocumentBatch& batch = *batches.emplace_back().mutable_batch();
    batch.set_first_sequence(first);
    for (size_t i = first; i < first + a_message; ++i) {
      batch.add_length(lengths[i % lengths.size()]);
    }
  }
  return batches;
}

// Documents a second of one producer, until all are accepted.
double IngestRate(const std::string& address,
                  const std::vector<v1::IngestRequest>& batches, size_t documents) {
  const auto stub = v1::PackingService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto call = stub->Ingest(&context);
  v1::IngestRequest open;
  open.mutable_open()->set_job("bench");
  open.mutable_open()->set_stream("a");
  call->Write(open);
  const TimePoint start = std::chrono::steady_clock::now();
  std::thread writer([&] {
    for (const v1::IngestRequest& batch : batches) call->Write(batch);
    call->WritesDone();
  });
  v1::IngestResponse response;
  while (call->Read(&response) && response.next_sequence() < documents) {
  }
  const double seconds = SecondsSince(start);
  while (call->Read(&response)) {
  }
  writer.join();
  const grpc::Status status = call->Finish();
  if (!status.ok() || response.next_sequence() < documents) {
    std::fprintf(stderr, "service_bench: %s\n", status.error_message().c_str());
    std::exit(1);
  }
  return static_cast<double>(documents) / seconds;
}

struct IngestRates {
  std::vector<double> service;
  std::vector<double> bare;
  std::vector<double> bare_ingest;
  std::vector<double> ratio;
  // Of a processor, the clients' included, for a million documents.
  std::vector<double> service_processor;
  std::vector<double> bare_processor;
};

// At least four micro-batches a step.
PackingServer::Shape ShapeOf(uint32_t subscribers) {
  return {.data_parallel = subscribers,
          .micro_batches_per_rank = std::max(1U, 4 / subscribers)};
}

// One for each DP rank, who take every step.
Subscribers Subscribe(const std::string& address, const PackingServer::Shape& shape) {
  return Subscribers({.address = address,
                      .count = shape.data_parallel,
                      .data_parallel = shape.data_parallel,
                      .decode = true});
}

// A kept step's message, of those nearest to the mean size.
v1::StreamStepsResponse TypicalStep(Job& job, uint64_t mean_bytes) {
  v1::StreamStepsResponse typical;
  const JobFigures figures = job.Figures();
  for (uint64_t i = 1; i <= figures.kept_steps; ++i) {
    const auto step = job.FindStep(figures.next_step - i);
    if (!step.ok()) break;  // made durable meanwhile
    v1::StreamStepsResponse response;
    ToProto(**step, {.dp_rank = 0, .cp_rank = 0}, *response.mutable_step());
    const auto off = [mean_bytes](const v1::StreamStepsResponse& message) {
      return std::abs(static_cast<double>(message.ByteSizeLong()) -
                      static_cast<double>(mean_bytes));
    };
    if (off(response) < off(typical)) typical = response;
  }
  return typical;
}

// The same documents in and messages of the same size out as the service had; then the
// documents alone.
void IngestOnce(const std::vector<v1::IngestRequest>& batches, size_t documents,
                const PackingServer::Shape& shape, IngestRates& rates) {
  const double millions = static_cast<double>(documents) / 1e6;
  uint64_t steps = 0;
  v1::StreamStepsResponse step;
  {
    PackingServer server(shape);
    const Subscribers subscribers = Subscribe(server.address(), shape);
    subscribers.WaitUntilSubscribed();
    const double before = ProcessorSeconds();
    rates.service.push_back(IngestRate(server.address(), batches, documents));
    steps = server.job().Figures().next_step;
    subscribers.WaitFor(steps);
    rates.service_processor.push_back((ProcessorSeconds() - before) / millions);
    step =
        TypicalStep(server.job(), subscribers.bytes() / (subscribers.count() * steps));
  }
  {
    BareServer bare(documents / steps, std::move(step));
    const Subscribers subscribers = Subscribe(bare.address(), shape);
    bare.WaitForCallers(subscribers.count());
    const double before = ProcessorSeconds();
    rates.bare.push_back(IngestRate(bare.address(), batches, documents));
    rates.bare_processor.push_back((ProcessorSeconds() - before) / millions);
  }
  BareServer bare;
  rates.bare_ingest.push_back(IngestRate(bare.address(), batches, documents));
  rates.ratio.push_back(rates.service.back() / rates.bare.back());
}

void Ingest(size_t a_message, size_t runs, uint32_t subscribers) {
  const std::vector<v1::IngestRequest> batches = MakeBatches(kDocuments, a_message);
  const PackingServer::Shape shape = ShapeOf(subscribers);
  IngestRates rates;
  for (size_t run = 0; run < runs; ++run) {
    IngestOnce(batches, batches.size() * a_message, shape, rates);
  }
  std::printf(
      "{\"bench\": \"ingest\", \"documents_a_message\": %zu, \"subscribers\": %u, "
      "\"bare_ingest_documents_per_second\": %.0f, "
      "\"bare_documents_per_second\": %.0f, \"documents_per_second\": %.0f, "
      "\"ratio\": %.3f, \"bare_processor_seconds_a_million\": %.3f, "
      "\"processor_seconds_a_million\": %.3f}\n",
      a_message, subscribers, Median(rates.bare_ingest), Median(rates.bare),
      Median(rates.service), Median(rates.ratio), Median(rates.bare_processor),
      Median(rates.service_processor));
}

// Acknowledged documents a second, two subscribers taking every step.
double StoreRate(const std::string& store,
                 const std::vector<v1::IngestRequest>& batches, size_t documents) {
  PackingServer::Shape shape = ShapeOf(2);
  shape.store = store;
  PackingServer server(shape);
  const Subscribers subscribers = Subscribe(server.address(), shape);
  subscribers.WaitUntilSubscribed();
  const double rate = IngestRate(server.address(), batches, documents);
  subscribers.WaitFor(server.job().Figures().next_step);
  return rate;
}

void CompareStores(const std::string& file, size_t runs) {
  constexpr size_t kMessage = 64;
  const std::vector<v1::IngestRequest> batches = MakeBatches(kDocuments, kMessage);
  const size_t documents = batches.size() * kMessage;
  std::vector<double> memory;
  std::vector<double> sqlite;
  std::vector<double> ratio;
  for (size_t run = 0; run < runs; ++run) {
    for (const char* suffix : {"", "-wal"}) std::filesystem::remove(file + suffix);
    memory.push_back(StoreRate("memory", batches, documents));
    sqlite.push_back(StoreRate("sqlite:" + file, batches, documents));
    ratio.push_back(sqlite.back() / memory.back());
  }
  std::printf(
      "{\"bench\": \"store\", \"memory_documents_per_second\": %.0f, "
      "\"sqlite_documents_per_second\": %.0f, \"ratio\": %.3f}\n",
      Median(memory), Median(sqlite), Median(ratio));
}

size_t FanoutSteps(size_t count) {
  return std::max<size_t>(60, kFanoutArrivals / count);
}

struct Latencies {
  std::vector<double> ms;

  double Percentile(double share) {
    std::sort(ms.begin(), ms.end());
    return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1))];
  }
};

void AddArrivals(const Subscribers& subscribers, size_t step, TimePoint sent,
                 Latencies& latencies) {
  for (size_t i = 0; i < subscribers.count(); ++i) {
    latencies.ms.push_back(
        std::chrono::duration<double, std::milli>(subscribers.Arrival(i, step) - sent)
            .count());
  }
}

void Submit(Job& job, Command command) {
  std::promise<absl::Status> done;
  job.Submit(std::move(command),
             [&done](const absl::Status& status) { done.set_value(status); });
  const absl::Status status = done.get_future().get();
  if (status.ok()) return;
  std::fprintf(stderr, "service_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

// One step at a time: the next is decided when all have the one before.
Latencies StepLatencies(size_t count, const PackingServer::Shape& shape,
                        size_t& bytes_a_message) {
  const PackingServer server(shape);
  Job& job = server.job();
  Subscribers subscribers({.address = server.address(),
                           .count = count,
                           .data_parallel = shape.data_parallel,
                           .context_parallel = shape.context_parallel});
  subscribers.WaitUntilSubscribed();
  const std::vector<uint32_t>& lengths = testing::GivenLengths();
  Latencies latencies;
  uint64_t sequence = 0;
  size_t seen = 0;
  while (seen < FanoutSteps(count)) {
    evenpack::Ingest ingest;
    ingest.stream = "a";
    ingest.first_sequence = sequence;
    for (int i = 0; i < 64; ++i) {
      ingest.lengths.push_back(lengths[sequence++ % lengths.size()]);
    }
    Submit(job, std::move(ingest));
    for (auto step = job.FindStep(seen); step.ok(); step = job.FindStep(seen)) {
      subscribers.WaitFor(seen + 1);
      AddArrivals(subscribers, seen, (*step)->decided, latencies);
      ++seen;
    }
  }
  bytes_a_message = subscribers.bytes() / (seen * count);
  return latencies;
}

Latencies BareLatencies(size_t count, size_t bytes) {
  BareServer server;
  Subscribers subscribers(
      {.address = server.address(), .count = count, .acknowledge = false});
  server.WaitForCallers(count);
  Latencies latencies;
  for (size_t step = 0; step < FanoutSteps(count); ++step) {
    const TimePoint sent = std::chrono::steady_clock::now();
    server.Send(bytes);
    subscribers.WaitFor(step + 1);
    AddArrivals(subscribers, step, sent, latencies);
  }
  return latencies;
}

void Fanout(size_t count) {
  const auto ranks = static_cast<uint32_t>(count);
  const uint32_t context_parallel = std::min<uint32_t>(ranks, 16);
  const uint32_t data_parallel = ranks / context_parallel;
  // At least four a step, so that no message of Ingest leads to two steps at once.
  const PackingServer::Shape shape = {
      .data_parallel = data_parallel,
      .micro_batches_per_rank = std::max(1U, 4 / data_parallel),
      .context_parallel = context_parallel};
  size_t bytes = 0;
  Latencies latencies = StepLatencies(count, shape, bytes);
  Latencies bare = BareLatencies(count, bytes);
  std::printf(
      "{\"bench\": \"fanout\", \"subscribers\": %zu, \"bytes_a_message\": %zu, "
      "\"bare_p50_ms\": %.3f, \"bare_p99_ms\": %.3f, \"p50_ms\": %.3f, "
      "\"p99_ms\": %.3f, \"p99_ratio\": %.3f}\n",
      count, bytes, bare.Percentile(0.5), bare.Percentile(0.99),
      latencies.Percentile(0.5), latencies.Percentile(0.99),
      latencies.Percentile(0.99) / bare.Percentile(0.99));
}

}  // namespace
}  // namespace evenpack::bench

int main(int argc, char** argv) {
  // As evenpack-server does.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::string mode = argc > 1 ? argv[1] : "";
  const size_t number = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;
  const size_t runs =
      argc > 3 ? std::strtoul(argv[3], nullptr, 10) : evenpack::bench::kRuns;
  const auto subscribers =
      static_cast<uint32_t>(argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 2);
  if (mode == "ingest" && number > 0 && runs > 0 && subscribers > 0) {
    evenpack::bench::Ingest(number, runs, subscribers);
  } else if (mode == "fanout" && number > 0) {
    evenpack::bench::Fanout(number);
  } else if (mode == "store" && argc > 2 && runs > 0) {
    evenpack::bench::CompareStores(argv[2], runs);
  } else {
    std::fprintf(stderr,
                 "service_bench: accepted: ingest [N [RUNS [SUBSCRIBERS]]], fanout "
                 "SUBSCRIBERS or store FILE [RUNS]\n");
    return 2;
  }
  return 0;
}
