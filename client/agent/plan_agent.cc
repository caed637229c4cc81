#include "client/agent/plan_agent.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/agent/agent_address.h"
#include "client/agent/agent_metrics.h"
#include "client/agent/agent_steps_call.h"
#include "client/agent/forwarded_call.h"
#include "client/agent/upstream.h"
#include "client/cpp/server_addresses.h"
#include "server/runtime/mutex.h"
#include "server/runtime/unix_socket.h"
#include "server/service/field_path.h"
#include "server/web/http_server.h"
#include "server/web/listen_address.h"
#include "server/web/listener.h"
#include "server/web/operator_pages.h"

namespace evenpack::agent {
namespace {

using std::chrono::milliseconds;

constexpr char kStreamSteps[] = "/evenpack.v1.PackingService/StreamSteps";
constexpr const char* kServices[] = {"", "evenpack.v1.PackingService",
                                     "evenpack.v1.CostProfileService"};
// Threads that wait for servers: questions about subscriptions, steps fetched alone.
// More than a node has ranks: those of a server that hangs leave others theirs.
constexpr int kWaitingThreads = 128;
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
  upstream.random = [mutex = std::make_shared<Mutex>(),
                     generator = std::mt19937_64(std::random_device()())]() mutable {
    MutexLock lock(*mutex);
    return std::uniform_real_distribution<double>()(generator);
  };
  return upstream;
}

absl::Status CheckSecurity(const PlanAgentOptions& options) {
  absl::Status status = client::Validate(options.security, options.server);
  return status.ok() ? client::CheckFiles(options.security) : status;
}

void SetTransport(grpc::ServerBuilder& builder) {
  // The server's bounds hold, whatever they are: one message of a call is here at once.
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kLeastPingMs);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
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

  const std::string& grpc_address() const { return grpc_address_; }
  const std::string& http_address() const { return http_address_; }

 private:
  absl::Status CheckListen() const {
    absl::Status status = CheckAgentAddress(options_.listen);
    if (options_.insecure || !status.ok()) return status;
    return CheckReachedLocally(options_.listen);
  }

  // gRPC would take the path from an agent that lives.
  absl::Status CheckFree(const std::string& socket) const {
    const auto free = ListenAt(socket, 0600);
    if (free.ok()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(
        "listen: can't listen on ", options_.listen, ": ", free.status().message()));
  }

  // gRPC has said it to the log alone, in its own words.
  absl::Status CannotListen() const {
    if (SocketPath(options_.listen).empty()) {
      const absl::Status why =
          Listener::Open(*ParseListenAddress(options_.listen)).status();
      if (!why.ok()) {
        return absl::UnavailableError(Renamed("listen", why).message());
      }
    }
    return absl::UnavailableError(absl::StrCat(
        "listen: can't listen on ", options_.listen,
        "; accepted: HOST:PORT of this machine with a port that is free, or "
        "unix:PATH in a folder that is there"));
  }

  absl::Status StartGrpc() {
    const std::string& listen = options_.listen;
    if (absl::Status status = CheckListen(); !status.ok()) return status;
    const std::string path = SocketPath(listen);
    if (!path.empty()) {
      if (absl::Status status = CheckFree(path); !status.ok()) return status;
    }
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    SetTransport(builder);
    int port = 0;
    builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port == 0) {
      grpc_.reset();
      return CannotListen();
    }
    grpc_address_ = path.empty()
                        ? absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port)
                        : listen;
    constexpr mode_t kEveryone = 0666;
    constexpr mode_t kUserAndGroup = 0660;
    const mode_t mode = options_.insecure ? kEveryone : kUserAndGroup;
    if (!path.empty() && chmod(path.c_str(), mode) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("listen: ", path));
    }
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
  std::unique_ptr<grpc::Server> grpc_;
  std::string grpc_address_;
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
