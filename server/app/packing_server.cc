#include "server/app/packing_server.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/app/advertised_address.h"
#include "server/app/figures.h"
#include "server/app/grpc_port.h"
#include "server/app/health_port.h"
#include "server/app/server_security.h"
#include "server/app/spare_memory.h"
#include "server/app/store_wait.h"
#include "server/app/transport_limits.h"
#include "server/app/transport_threads.h"
#include "server/control/committer.h"
#include "server/control/cost_profile_registry.h"
#include "server/control/directory.h"
#include "server/control/job_moves.h"
#include "server/control/job_registry.h"
#include "server/control/late_reads.h"
#include "server/metrics/figures_collector.h"
#include "server/runtime/log.h"
#include "server/runtime/repeated_task.h"
#include "server/runtime/thread_check.h"
#include "server/runtime/worker_pool.h"
#include "server/service/calibration_conversion.h"
#include "server/service/cost_profile_service.h"
#include "server/service/field_path.h"
#include "server/service/forecast_conversion.h"
#include "server/service/json_api.h"
#include "server/service/packing_service.h"
#include "server/service/spec_conversion.h"
#include "server/service/without_reflection.h"
#include "server/store/open_store.h"
#include "server/store/shared_store.h"
#include "server/web/http_server.h"
#include "server/web/listen_address.h"
#include "server/web/live_page.h"
#include "server/web/operator_pages.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kServiceNames[] = {"evenpack.v1.PackingService",
                                         "evenpack.v1.CostProfileService"};
constexpr int kTransportThreads = 8;
// That write what observers are told over HTTP.
constexpr int kJsonThreads = 2;
// As many reads may hang before other producers' files are waited for.
constexpr int kFileThreads = 16;
// Of gRPC's own, of which it has some for each processor up to kMostProcessors; of the
// ports, the committer, the store, signals and the log.
constexpr size_t kOtherThreads = 27;
constexpr size_t kMostProcessors = 16;
constexpr milliseconds kBetweenLateReads{250};
// For calls that end by themselves, once the streams are gone.
constexpr milliseconds kLastCalls{500};
// For connections that close, once their calls are gone.
constexpr milliseconds kLastConnections{1000};
// For all that comes behind the streams.
constexpr milliseconds kAfterStreams{2000};

int WakeThreads(const ServerOptions& options) {
  if (options.wake_threads > 0) return static_cast<int>(options.wake_threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Whether those can be read that ServerSecurity doesn't look at.
absl::Status CheckAddresses(const ServerOptions& options) {
  const std::pair<const char*, const std::string&> addresses[] = {
      {"http-listen", options.http_listen}, {"health-listen", options.health_listen}};
  for (const auto& [flag, address] : addresses) {
    if (address.empty()) continue;
    const absl::Status status = ParseListenAddress(address).status();
    if (!status.ok()) return Renamed(flag, status);
  }
  if (options.advertise.empty()) return absl::OkStatus();
  return ParseAdvertised(options.advertise).status();
}

absl::StatusOr<PayloadRoot> RootOf(const ServerOptions& options) {
  if (options.payload_root.empty()) return PayloadRoot();
  return PayloadRoot::Open(options.payload_root);
}

}  // namespace

// Members end in the reverse order of their beginning; Drain has stopped all threads
// that call from one into another before.
class PackingServer::Rooms {
 public:
  Rooms(const ServerOptions& options, std::unique_ptr<StateStore> store,
        PayloadRoot payload_root, std::unique_ptr<ServerSecurity> security,
        std::function<void()> lost_all)
      : options_(options),
        security_(std::move(security)),
        tell_lost_all_(std::move(lost_all)),
        store_(std::move(store)),
        shared_(store_->Shared()),
        pool_(WakeThreads(options)),
        file_readers_(options.payload_root.empty()
                          ? nullptr
                          : std::make_unique<WorkerPool>(kFileThreads)),
        committer_(*store_, Committer::kGather),
        profiles_(std::make_shared<CostProfileRegistry>(committer_, *store_,
                                                        Clock::Steady())),
        directory_(MakeDirectory()),
        jobs_({committer_,
               *store_,
               pool_,
               Clock::Steady(),
               TokensTravel,
               std::move(payload_root),
               {CostScalesOf, IsSelfCalibrating, DescribeWith},
               ForecastTermsOfSpec},
              options.max_jobs),
        late_reads_(jobs_, Clock::Steady()),
        moves_(MakeMoves()),
        calls_{LiveCalls(options.max_ingest_streams),
               LiveCalls(options.max_step_streams),
               LiveCalls(options.max_group_streams)},
        quotas_(options.quotas,
                [&jobs = jobs_](const std::string& job) {
                  return !absl::IsNotFound(jobs.Find(job).status());
                }),
        messages_(options.step_cache_bytes),
        service_(MakePackingService(Environment())),
        profile_service_(MakeCostProfileService(Environment())),
        figures_(jobs_, committer_, *store_, calls_, errors_, quotas_.held,
                 security_.get(), moves_.get(), directory_.get()),
        collector_(figures_, {EVENPACK_VERSION, options.max_metric_jobs}) {}

  absl::Status Start() {
    if (absl::Status status = StartHttp(); !status.ok()) return status;
    if (absl::Status status = StartHealth(); !status.ok()) return status;
    SetServing(false);
    absl::Status status = shared_ == nullptr ? LeadAlone() : JoinOthers();
    if (!status.ok()) return status;
    security_->Watch([this] {
      for (LiveCalls* calls : {&calls_.ingest, &calls_.steps, &calls_.groups}) {
        calls->RolesChanged();
      }
    });
    reading_ = std::make_unique<RepeatedTask>(kBetweenLateReads,
                                              [this] { late_reads_.ReadDue(); });
    giving_back_ = std::make_unique<RepeatedTask>(
        SparePace::kInterval, [pace = SparePace()]() mutable {
          if (const size_t bytes = pace.Next(SpareBytes()); bytes > 0) {
            GiveBackSpare(bytes);
          }
        });
    SetServing(true);
    return absl::OkStatus();
  }

  ~Rooms() {
    if (drainer_.joinable()) drainer_.join();
    if (closer_.joinable()) closer_.join();
    // Where nothing was ever served: the HTTP server waits for its answers.
    if (directory_ != nullptr) directory_->Close();
    store_->StepDown();
  }

  // A store that hangs holds up whoever waits for a commit, and each of the steps below
  // may: so they are done beside this one, which waits no longer than it may take.
  Drained Drain() {
    if (grpc_ == nullptr || drainer_.joinable()) return Drained::kAll;
    const auto end = std::chrono::steady_clock::now() + seconds(options_.drain_seconds);
    std::packaged_task<bool()> drain([this, end] { return DrainUntil(end); });
    std::future<bool> closed = drain.get_future();
    drainer_ = std::thread(std::move(drain));
    if (closed.wait_until(end + kAfterStreams) != std::future_status::ready) {
      return Drained::kNotInTime;
    }
    return closed.get() ? Drained::kAll : Drained::kButConnections;
  }

  const std::string& grpc_address() const { return grpc_address_; }
  const std::string& http_address() const { return http_address_; }
  const std::string& health_address() const { return health_.address(); }

 private:
  // False where a connection would not close.
  bool DrainUntil(std::chrono::steady_clock::time_point end) {
    SetServing(false);
    security_->StopWatching();
    if (joined_ && !lost_all_) GiveJobs(end);
    for (LiveCalls* calls : {&calls_.ingest, &calls_.steps, &calls_.groups}) {
      calls->Drain();
      calls->WaitUntilNone(end - std::chrono::steady_clock::now());
    }
    // Before the committer, for which they wait, and who waits for them.
    if (moves_ != nullptr) moves_->Stop();
    if (directory_ != nullptr) directory_->Close();
    const bool closed = CloseGrpc();
    // What is left of calls that were cancelled. A read that hangs holds its call open.
    if (closed) file_readers_.reset();
    // Its last answers may wait for a commit.
    if (http_ != nullptr) http_->Stop();
    // May wait for the store, as what comes next.
    reading_.reset();
    committer_.Stop();
    store_->StepDown();
    return closed;
  }

  ServiceEnvironment Environment() {
    return {jobs_,
            calls_,
            messages_,
            connects_,
            errors_,
            *profiles_,
            quotas_,
            security_->access(),
            directory_.get(),
            file_readers_.get(),
            options_.max_message_bytes};
  }

  std::unique_ptr<Directory> MakeDirectory() {
    if (shared_ == nullptr) return nullptr;
    return std::make_unique<Directory>(*shared_, *profiles_, Clock::Steady());
  }

  std::unique_ptr<JobMoves> MakeMoves() {
    if (shared_ == nullptr) return nullptr;
    return std::make_unique<JobMoves>(*shared_, committer_, jobs_, *directory_, [this] {
      lost_all_ = true;
      if (tell_lost_all_ != nullptr) tell_lost_all_();
    });
  }

  absl::Status LeadAlone() {
    if (absl::Status status = profiles_->Recover(); !status.ok()) return status;
    if (absl::Status status = jobs_.Recover(); !status.ok()) return status;
    knows_jobs_ = true;
    return StartGrpc();
  }

  // The port is open before, so that others can be told of it: calls wait meanwhile for
  // the directory.
  absl::Status JoinOthers() {
    if (absl::Status status = StartGrpc(); !status.ok()) return status;
    absl::Status status = shared_->Join(advertised_, *moves_);
    if (!status.ok()) return status;
    joined_ = true;
    status = profiles_->Recover();
    if (!status.ok()) return status;
    directory_->Open([this](const std::string& job) { moves_->Find(job); });
    return absl::OkStatus();
  }

  // To the servers that stay, while their calls go on.
  void GiveJobs(std::chrono::steady_clock::time_point end) {
    if (const absl::Status left = shared_->Leave(); !left.ok()) {
      Log(LogLevel::kWarning, "database not told of the drain",
          {{"error", std::string(left.message())}});
    }
    moves_->GiveAll(end - std::chrono::steady_clock::now());
  }

  // A peer that hangs keeps its connection, and what waits for that, until TCP gives
  // up: not so long. False then.
  bool CloseGrpc() {
    grpc_port_->Stop();
    std::packaged_task<void()> close([this] {
      grpc_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
      health_.Close();
      grpc_->Wait();
      transport_threads_.Stop();
    });
    const std::future<void> closed = close.get_future();
    closer_ = std::thread(std::move(close));
    return closed.wait_for(kLastCalls + kLastConnections) == std::future_status::ready;
  }

  absl::Status StartGrpc() {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress(options_.listen);
    if (!address.ok()) return Renamed("listen", address.status());
    grpc::EnableDefaultHealthCheckService(true);
    if (options_.channelz == "on" ||
        (options_.channelz == "auto" && IsLoopback(address->host))) {
      grpc::channelz::experimental::InitChannelzService();
    }
    grpc::ServerBuilder builder;
    if (security_->admits_reflection()) {
      // Linked, it is there: no linker may leave it out.
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    } else {
      LeaveOutReflection(builder);
    }
    SetTransportLimits(options_, builder);
    absl::StatusOr<std::unique_ptr<GrpcPort>> port = GrpcPort::Open(
        *address, {.peer_timeout = seconds(options_.keepalive_timeout_seconds),
                   .unclaimed = {.each_call = options_.max_message_bytes,
                                 .together = options_.max_unclaimed_bytes}});
    // Whatever it is, it may be another time: a supervisor is to try again.
    if (!port.ok()) {
      return absl::UnavailableError(Renamed("listen", port.status()).message());
    }
    grpc_port_ = *std::move(port);
    grpc_port_->AddTo(builder, security_->credentials());
    builder.RegisterService(service_.get());
    builder.RegisterService(profile_service_.get());
    transport_threads_.AddTo(builder, kTransportThreads);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr) return CannotServe();
    // Before anybody can ask.
    SetServing(false);
    transport_threads_.Start();
    grpc_port_->Start();
    grpc_address_ = FormatAddress({address->host, grpc_port_->port()});
    const absl::StatusOr<std::string> advertised =
        AdvertisedAddress(options_.advertise, grpc_address_, grpc_port_->host());
    if (!advertised.ok()) return advertised.status();
    advertised_ = *advertised;
    return absl::OkStatus();
  }

  absl::Status CannotServe() const {
    return absl::UnavailableError(
        absl::StrCat("listen: gRPC can't serve on ", options_.listen));
  }

  absl::Status StartHttp() {
    if (options_.http_listen.empty()) return absl::OkStatus();
    HttpPages pages = OperatorPages([this] { return collector_.Text(); },
                                    [this] { return serving_.load(); });
    AddLivePage(PageFiles(), pages);
    AddJsonApi(Environment(), json_pool_, pages, [this] { return knows_jobs_.load(); });
    absl::StatusOr<std::unique_ptr<HttpServer>> http =
        HttpServer::Start(options_.http_listen, std::move(pages));
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    http_address_ = http_->address();
    return absl::OkStatus();
  }

  absl::Status StartHealth() {
    if (options_.health_listen.empty()) return absl::OkStatus();
    return health_.Start(options_.health_listen);
  }

  void SetServing(bool serving) {
    serving_ = serving;
    health_.SetServing("", serving);
    for (const char* name : kServiceNames) health_.SetServing(name, serving);
    if (grpc_ == nullptr) return;
    grpc::HealthCheckServiceInterface* health = grpc_->GetHealthCheckService();
    health->SetServingStatus(serving);
    for (const char* name : kServiceNames) health->SetServingStatus(name, serving);
  }

  const ServerOptions options_;
  const std::unique_ptr<ServerSecurity> security_;
  const std::function<void()> tell_lost_all_;
  const std::unique_ptr<StateStore> store_;
  // Null where no other server can have the store.
  SharedStore* const shared_;
  WorkerPool pool_;
  // Apart, so that a large answer to an observer delays no step.
  WorkerPool json_pool_{kJsonThreads};
  // Null where no file is read.
  std::unique_ptr<WorkerPool> file_readers_;
  Committer committer_;
  const std::shared_ptr<CostProfileRegistry> profiles_;
  // Null without shared_, as moves_ is.
  const std::unique_ptr<Directory> directory_;
  JobRegistry jobs_;
  LateReads late_reads_;
  const std::unique_ptr<JobMoves> moves_;
  bool joined_ = false;
  std::atomic<bool> lost_all_ = false;
  StreamCalls calls_;
  CallQuotas quotas_;
  StepMessages messages_;
  ConnectMessages connects_;
  ErrorCounts errors_;
  const std::unique_ptr<grpc::Service> service_;
  const std::unique_ptr<grpc::Service> profile_service_;
  const Figures figures_;
  const FiguresCollector collector_;
  std::atomic<bool> serving_ = false;
  // Of a shared store the directory knows them, and has who asks earlier wait.
  std::atomic<bool> knows_jobs_ = shared_ != nullptr;
  std::unique_ptr<GrpcPort> grpc_port_;
  TransportThreads transport_threads_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string grpc_address_;
  std::string advertised_;
  std::unique_ptr<HttpServer> http_;
  std::string http_address_;
  HealthPort health_;
  // Has late_reads_ read what is due.
  std::unique_ptr<RepeatedTask> reading_;
  // Has memory given back that is spare.
  std::unique_ptr<RepeatedTask> giving_back_;
  std::thread closer_;
  std::thread drainer_;
};

PackingServer::PackingServer(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}

PackingServer::~PackingServer() { Drain(); }

absl::StatusOr<std::unique_ptr<PackingServer>> PackingServer::Start(
    const ServerOptions& options, std::function<void()> lost_all) {
  StoreWait wait;
  wait.patience = std::chrono::seconds(options.store_wait_seconds);
  wait.sleep = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
  return StartWith(
      [&] { return OpenInTime([&] { return OpenStore(options.store); }, wait); },
      options, std::move(lost_all));
}

absl::Status PackingServer::CheckThreads(const ServerOptions& options) {
  const auto processors = static_cast<size_t>(std::thread::hardware_concurrency());
  const int pools = WakeThreads(options) + kJsonThreads + kTransportThreads +
                    (options.payload_root.empty() ? 0 : kFileThreads);
  return evenpack::CheckThreads(static_cast<size_t>(pools) + kOtherThreads +
                                std::min(processors, kMostProcessors));
}

absl::StatusOr<std::unique_ptr<PackingServer>> PackingServer::StartOver(
    std::unique_ptr<StateStore> store, const ServerOptions& options,
    std::function<void()> lost_all) {
  return StartWith([&store] { return std::move(store); }, options, std::move(lost_all));
}

absl::StatusOr<std::unique_ptr<PackingServer>> PackingServer::StartWith(
    const StoreOpener& open_store, const ServerOptions& options,
    std::function<void()> lost_all) {
  if (absl::Status status = CheckAddresses(options); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<ServerSecurity>> security =
      ServerSecurity::Open(options);
  if (!security.ok()) return security.status();
  absl::StatusOr<PayloadRoot> root = RootOf(options);
  if (!root.ok()) return root.status();
  // It may make the store, or bring an older one to this version.
  absl::StatusOr<std::unique_ptr<StateStore>> store = open_store();
  if (!store.ok()) return store.status();
  auto rooms = std::make_unique<Rooms>(options, *std::move(store), *std::move(root),
                                       *std::move(security), std::move(lost_all));
  absl::Status status = rooms->Start();
  std::unique_ptr<PackingServer> server(new PackingServer(std::move(rooms)));
  if (!status.ok()) return status;
  return server;
}

const std::string& PackingServer::grpc_address() const {
  return rooms_->grpc_address();
}

const std::string& PackingServer::http_address() const {
  return rooms_->http_address();
}

const std::string& PackingServer::health_address() const {
  return rooms_->health_address();
}

Drained PackingServer::Drain() { return rooms_->Drain(); }

}  // namespace evenpack
