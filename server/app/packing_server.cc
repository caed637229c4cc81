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
#include "server/app/figures.h"
#include "server/app/health_port.h"
#include "server/control/committer.h"
#include "server/control/cost_profile_registry.h"
#include "server/control/job_registry.h"
#include "server/metrics/figures_collector.h"
#include "server/runtime/worker_pool.h"
#include "server/service/calibration_conversion.h"
#include "server/service/cost_profile_service.h"
#include "server/service/field_path.h"
#include "server/service/forecast_conversion.h"
#include "server/service/json_api.h"
#include "server/service/packing_service.h"
#include "server/service/spec_conversion.h"
#include "server/store/open_store.h"
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
// That write what observers are told over HTTP.
constexpr int kJsonThreads = 2;
// For calls that end by themselves, once the streams are gone.
constexpr milliseconds kLastCalls{500};
// For connections that close, once their calls are gone.
constexpr milliseconds kLastConnections{1000};

int Milliseconds(uint64_t from_seconds) {
  return static_cast<int>(std::min<uint64_t>(from_seconds * 1000, 2'000'000'000));
}

int WakeThreads(const ServerOptions& options) {
  if (options.wake_threads > 0) return static_cast<int>(options.wake_threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void SetLimits(const ServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             Milliseconds(options.keepalive_seconds));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout_seconds));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(options.min_ping_seconds));
  if (options.max_connection_age_seconds > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               Milliseconds(options.max_connection_age_seconds));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               Milliseconds(options.connection_age_grace_seconds));
  }
  // A second server on the same port is a mistake, not a way to share load.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
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
        PayloadRoot payload_root)
      : options_(options),
        store_(std::move(store)),
        pool_(WakeThreads(options)),
        committer_(*store_),
        profiles_(std::make_shared<CostProfileRegistry>(committer_, *store_,
                                                        Clock::Steady())),
        jobs_({committer_,
               *store_,
               pool_,
               Clock::Steady(),
               TokensTravel,
               std::move(payload_root),
               {CostScalesOf, IsSelfCalibrating, DescribeWith},
               ForecastTermsOfSpec},
              options.max_jobs),
        calls_{LiveCalls(options.max_ingest_streams),
               LiveCalls(options.max_step_streams),
               LiveCalls(options.max_group_streams)},
        messages_(options.step_cache_bytes),
        service_(MakePackingService(Environment())),
        profile_service_(MakeCostProfileService(Environment())),
        figures_(jobs_, committer_, *store_, calls_, errors_),
        collector_(figures_, {EVENPACK_VERSION, options.max_metric_jobs}) {}

  absl::Status Start(const LeadTerms& terms) {
    if (absl::Status status = StartHttp(); !status.ok()) return status;
    if (absl::Status status = StartHealth(); !status.ok()) return status;
    SetServing(false);
    if (absl::Status status = store_->Lead(terms); !status.ok()) return status;
    if (absl::Status status = profiles_->Recover(); !status.ok()) return status;
    if (absl::Status status = jobs_.Recover(); !status.ok()) return status;
    if (absl::Status status = StartGrpc(); !status.ok()) return status;
    SetServing(true);
    return absl::OkStatus();
  }

  ~Rooms() {
    if (closer_.joinable()) closer_.join();
    store_->StepDown();
  }

  bool Drain() {
    if (grpc_ == nullptr || closer_.joinable()) return true;
    SetServing(false);
    const auto end = std::chrono::steady_clock::now() + seconds(options_.drain_seconds);
    for (LiveCalls* calls : {&calls_.ingest, &calls_.steps, &calls_.groups}) {
      calls->Drain();
      calls->WaitUntilNone(end - std::chrono::steady_clock::now());
    }
    const bool closed = CloseGrpc();
    // Its last answers may wait for a commit.
    if (http_ != nullptr) http_->Stop();
    committer_.Stop();
    store_->StepDown();
    return closed;
  }

  const std::string& grpc_address() const { return grpc_address_; }
  const std::string& http_address() const { return http_address_; }
  const std::string& health_address() const { return health_.address(); }

 private:
  ServiceEnvironment Environment() {
    return {jobs_, calls_, messages_, errors_, *profiles_};
  }

  // A peer that hangs keeps its connection, and what waits for that, until TCP gives
  // up: not so long. False then.
  bool CloseGrpc() {
    std::packaged_task<void()> close([this] {
      grpc_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
      health_.Close();
      grpc_->Wait();
    });
    const std::future<void> closed = close.get_future();
    closer_ = std::thread(std::move(close));
    return closed.wait_for(kLastCalls + kLastConnections) == std::future_status::ready;
  }

  absl::Status StartGrpc() {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress(options_.listen);
    if (!address.ok()) return Renamed("listen", address.status());
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    if (options_.channelz == "on" ||
        (options_.channelz == "auto" && IsLoopback(address->host))) {
      grpc::channelz::experimental::InitChannelzService();
    }
    grpc::ServerBuilder builder;
    SetLimits(options_, builder);
    int port = 0;
    builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    builder.RegisterService(profile_service_.get());
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port == 0) {
      grpc_.reset();
      return absl::UnavailableError(absl::StrCat(
          "listen: can't listen on ", options_.listen,
          "; accepted: HOST:PORT of this machine with a port that is free"));
    }
    const size_t colon = options_.listen.rfind(':');
    grpc_address_ = absl::StrCat(options_.listen.substr(0, colon), ":", port);
    return absl::OkStatus();
  }

  absl::Status StartHttp() {
    if (options_.http_listen.empty()) return absl::OkStatus();
    HttpPages pages = OperatorPages([this] { return collector_.Text(); },
                                    [this] { return serving_.load(); });
    AddLivePage(PageFiles(), pages);
    AddJsonApi(Environment(), json_pool_, pages);
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
  const std::unique_ptr<StateStore> store_;
  WorkerPool pool_;
  // Apart, so that a large answer to an observer delays no step.
  WorkerPool json_pool_{kJsonThreads};
  Committer committer_;
  const std::shared_ptr<CostProfileRegistry> profiles_;
  JobRegistry jobs_;
  StreamCalls calls_;
  StepMessages messages_;
  ErrorCounts errors_;
  const std::unique_ptr<grpc::Service> service_;
  const std::unique_ptr<grpc::Service> profile_service_;
  const Figures figures_;
  const FiguresCollector collector_;
  std::atomic<bool> serving_ = false;
  std::unique_ptr<grpc::Server> grpc_;
  std::string grpc_address_;
  std::unique_ptr<HttpServer> http_;
  std::string http_address_;
  HealthPort health_;
  std::thread closer_;
};

LeadTerms WaitForLead() {
  return {[](milliseconds time) {
            std::this_thread::sleep_for(time);
            return true;
          },
          nullptr};
}

PackingServer::PackingServer(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}

PackingServer::~PackingServer() { Drain(); }

absl::StatusOr<std::unique_ptr<PackingServer>> PackingServer::Start(
    const ServerOptions& options, const LeadTerms& terms) {
  absl::StatusOr<std::unique_ptr<StateStore>> store = OpenStore(options.store);
  if (!store.ok()) return store.status();
  absl::StatusOr<PayloadRoot> root = RootOf(options);
  if (!root.ok()) return root.status();
  auto rooms = std::make_unique<Rooms>(options, *std::move(store), *std::move(root));
  absl::Status status = rooms->Start(terms);
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

bool PackingServer::Drain() { return rooms_->Drain(); }

}  // namespace evenpack
