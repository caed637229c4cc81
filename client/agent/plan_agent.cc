#include "client/agent/plan_agent.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/agent/agent_address.h"
#include "client/agent/agent_metrics.h"
#include "client/agent/agent_port.h"
#include "client/agent/agent_steps_call.h"
#include "client/agent/forwarded_call.h"
#include "client/agent/upstream.h"
#include "client/agent/waiting_threads.h"
#include "client/cpp/server_addresses.h"
#include "client/cpp/shared_random.h"
#include "server/service/without_compression.h"
#include "server/service/without_reflection.h"
#include "server/web/http_server.h"
#include "server/web/operator_pages.h"

namespace evenpack::agent {
namespace {

using std::chrono::milliseconds;

constexpr char kStreamSteps[] = "/evenpack.v1.PackingService/StreamSteps";
constexpr const char* kServices[] = {"", "evenpack.v1.PackingService",
                                     "evenpack.v1.CostProfileService"};
// A node has some dozens of ranks.
constexpr size_t kMostLocalSubscriptions = 4096;
// Of clients' pings, which come every 30 s by default.
constexpr int kLeastPingMs = 10'000;
constexpr int kKeepaliveMs = 60'000;
// For streams to end, for other calls, and for connections to close.
constexpr milliseconds kStreamsEnd{500};
constexpr milliseconds kCallsEnd{500};
constexpr milliseconds kConnectionsEnd{1000};

// Both outlive it.
class AgentService final : public grpc::CallbackGenericService {
 public:
  AgentService(const StepsCallEnvironment& environment, Upstream& upstream)
      : environment_(environment), upstream_(upstream) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (context->method() == kStreamSteps) return StartAgentStepsCall(environment_);
    return StartForwardedCall(upstream_, *context);
  }

 private:
  const StepsCallEnvironment environment_;
  Upstream& upstream_;
};

client::ClientOptions UpstreamOptions(const PlanAgentOptions& options) {
  client::ClientOptions upstream;
  upstream.address = options.server;
  upstream.security = options.security;
  upstream.random = client::SharedRandom();
  // As in SetTransport.
  upstream.max_message_bytes = std::numeric_limits<int>::max();
  return upstream;
}

absl::Status CheckSecurity(const PlanAgentOptions& options) {
  absl::Status status = client::Validate(options.security, options.server);
  return status.ok() ? client::CheckFiles(options.security) : status;
}

void SetTransport(grpc::ServerBuilder& builder) {
  LeaveOutCompression(builder);
  // The server's bounds hold, whatever they are: one message of a call is here at once.
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kLeastPingMs);
}

}  // namespace

// Members end in the reverse order of their beginning.
class PlanAgent::Rooms {
 public:
  explicit Rooms(const PlanAgentOptions& options)
      : options_(options),
        upstream_(UpstreamOptions(options)),
        calls_(kMostLocalSubscriptions),
        feeds_({upstream_.stub(), UpstreamOptions(options), options.name, &pool_},
               options.steps),
        service_({feeds_, calls_}, upstream_) {}

  ~Rooms() {
    if (closer_.joinable()) closer_.join();
  }

  absl::Status Start() {
    if (absl::Status status = StartGrpc(); !status.ok()) return status;
    if (absl::Status status = StartHttp(); !status.ok()) return status;
    SetServing(true);
    return absl::OkStatus();
  }

  bool Drain() {
    if (grpc_ == nullptr || closer_.joinable()) return true;
    SetServing(false);
    calls_.Drain();
    feeds_.Stop();
    calls_.WaitUntilNone(kStreamsEnd);
    std::packaged_task<void()> close([this] {
      port_->Stop();
      grpc_->Shutdown(std::chrono::system_clock::now() + kCallsEnd);
      grpc_->Wait();
    });
    const std::future<void> closed = close.get_future();
    closer_ = std::thread(std::move(close));
    const bool in_time =
        closed.wait_for(kCallsEnd + kConnectionsEnd) == std::future_status::ready;
    if (http_ != nullptr) http_->Stop();
    return in_time;
  }

  const std::string& grpc_address() const { return port_->address(); }
  const std::string& http_address() const { return http_address_; }

 private:
  absl::Status CheckListen() const {
    absl::Status status = CheckAgentAddress(options_.listen);
    if (options_.insecure || !status.ok()) return status;
    return CheckReachedLocally(options_.listen);
  }

  absl::Status StartGrpc() {
    if (absl::Status status = CheckListen(); !status.ok()) return status;
    constexpr mode_t kEveryone = 0666;
    constexpr mode_t kUserAndGroup = 0660;
    absl::StatusOr<std::unique_ptr<AgentPort>> port =
        AgentPort::Open(options_.listen, options_.insecure ? kEveryone : kUserAndGroup);
    if (!port.ok()) return port.status();
    port_ = *std::move(port);
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    // It would list nothing of the API. That of the server is passed on.
    LeaveOutReflection(builder);
    SetTransport(builder);
    port_->AddTo(builder);
    builder.RegisterCallbackGenericService(&service_);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("listen: gRPC can't serve on ", options_.listen));
    }
    port_->Start();
    return absl::OkStatus();
  }

  absl::Status StartHttp() {
    if (options_.http_listen.empty()) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<HttpServer>> http = HttpServer::Start(
        options_.http_listen,
        OperatorPages(
            [this] { return AgentMetricsText(options_.version, feeds_.figures()); },
            [this] { return serving_.load(); }));
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    http_address_ = http_->address();
    return absl::OkStatus();
  }

  void SetServing(bool serving) {
    serving_ = serving;
    for (const char* name : kServices) {
      grpc_->GetHealthCheckService()->SetServingStatus(name, serving);
    }
  }

  const PlanAgentOptions options_;
  Upstream upstream_;
  LiveCalls calls_;
  StepFeeds feeds_;
  // Ends before the feeds, which its tasks use.
  WorkerPool pool_{kWaitingThreads};
  AgentService service_;
  std::atomic<bool> serving_ = false;
  std::unique_ptr<AgentPort> port_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<HttpServer> http_;
  std::string http_address_;
  std::thread closer_;
};

PlanAgent::PlanAgent(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}

PlanAgent::~PlanAgent() { Drain(); }

absl::StatusOr<std::unique_ptr<PlanAgent>> PlanAgent::Start(
    const PlanAgentOptions& options) {
  const auto servers = client::ServerAddresses("server", options.server);
  if (!servers.ok()) return servers.status();
  if (absl::Status status = CheckSecurity(options); !status.ok()) return status;
  auto rooms = std::make_unique<Rooms>(options);
  absl::Status status = rooms->Start();
  std::unique_ptr<PlanAgent> agent(new PlanAgent(std::move(rooms)));
  if (!status.ok()) return status;
  return agent;
}

const std::string& PlanAgent::grpc_address() const { return rooms_->grpc_address(); }

const std::string& PlanAgent::http_address() const { return rooms_->http_address(); }

bool PlanAgent::Drain() { return rooms_->Drain(); }

}  // namespace evenpack::agent
