#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "evenpack/v1/job.pb.h"
#include "server/control/committer.h"
#include "server/control/job_registry.h"
#include "server/service/packing_service.h"
#include "server/service/spec_conversion.h"
#include "server/store/open_store.h"
#include "tests/bench/service/bench_server.h"

namespace evenpack::bench {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr size_t kManyCalls = 100'000;

JobSpec MakeSpec(const PackingServer::Shape& shape) {
  v1::JobSpec spec;
  spec.add_streams()->set_name("a");
  spec.set_window(kWindow);
  spec.set_max_length(kWindow + kWindow / 2);
  spec.set_split_overlong(true);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(49152);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(98304);
  v1::Parallelism& parallelism = *spec.mutable_parallelism();
  parallelism.set_data(shape.data_parallel);
  parallelism.set_micro_batches_per_rank(shape.micro_batches_per_rank);
  parallelism.set_context(shape.context_parallel);
  return FromProto(spec).value();
}

}  // namespace

struct PackingServer::Rooms {
  explicit Rooms(const std::string& name) : store(OpenStore(name).value()) {}

  const std::unique_ptr<StateStore> store;
  WorkerPool pool{static_cast<int>(std::thread::hardware_concurrency())};
  Committer committer{*store, Committer::kGather};
  const std::shared_ptr<CostProfileRegistry> profiles =
      std::make_shared<CostProfileRegistry>(committer, *store, Clock::Steady());
  JobRegistry jobs{{committer, *store, pool, Clock::Steady(), TokensTravel}, 10};
  StreamCalls calls{LiveCalls(kManyCalls), LiveCalls(kManyCalls),
                    LiveCalls(kManyCalls)};
  StepMessages messages{16 << 20};
  ConnectMessages connects;
  ErrorCounts errors;
  CallQuotas quotas{QuotaLimits{}, [](const std::string&) { return true; }};
  std::unique_ptr<grpc::Service> service =
      MakePackingService({jobs, calls, messages, connects, errors, *profiles, quotas});
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

PackingServer::PackingServer(const Shape& shape)
    : rooms_(std::make_unique<Rooms>(shape.store)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &rooms_->port);
  builder.RegisterService(rooms_->service.get());
  rooms_->server = builder.BuildAndStart();
  std::promise<absl::Status> created;
  rooms_->jobs.Create("bench", CreateJob{MakeSpec(shape)},
                      [&created](const absl::StatusOr<JobStatus>& job) {
                        created.set_value(job.status());
                      });
  const absl::Status status = created.get_future().get();
  if (!status.ok()) {
    std::fprintf(stderr, "service_bench: %s\n", status.ToString().c_str());
    std::exit(1);
  }
}

PackingServer::~PackingServer() {
  rooms_->calls.ingest.Drain();
  rooms_->calls.steps.Drain();
  rooms_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  rooms_->server->Wait();
  rooms_->committer.Stop();
}

std::string PackingServer::address() const {
  return "127.0.0.1:" + std::to_string(rooms_->port);
}

Job& PackingServer::job() const { return **rooms_->jobs.Find("bench"); }

}  // namespace evenpack::bench
