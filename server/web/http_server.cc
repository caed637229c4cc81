#include "server/web/http_server.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/runtime/file_descriptor.h"
#include "server/runtime/worker_pool.h"
#include "server/web/connection_loop.h"
#include "server/web/http_exchange.h"
#include "server/web/listen_address.h"
#include "server/web/listener.h"

namespace evenpack {
namespace {

ConnectionLoopOptions LoopOptions(const HttpServerOptions& options) {
  ConnectionLoopOptions result;
  result.max_connections = options.max_connections;
  result.limits.max_request_bytes = options.max_request_bytes;
  result.limits.request_timeout = options.request_timeout;
  result.limits.answer_timeout = options.answer_timeout;
  result.clock = options.clock;
  return result;
}

// Who is named where others reach the port isn't known: a service, say, or a proxy.
AcceptedHosts HostsAt(const ListenAddress& address) {
  return IsLoopback(address.host) ? AcceptedHosts::kOwn : AcceptedHosts::kAny;
}

}  // namespace

// Bytes in and out on one thread, pages on others.
class HttpServer::Serving {
 public:
  Serving(std::vector<Listener> listeners, FileDescriptor wakeup, HttpPages pages,
          const HttpServerOptions& options)
      : address_(listeners.front().address()),
        text_(FormatAddress(address_)),
        exchange_(std::move(pages), HostsAt(address_)),
        loop_(std::move(listeners), std::move(wakeup), LoopOptions(options),
              [this](uint64_t connection, std::string request) {
                Handle(connection, std::move(request));
              }),
        workers_(options.handler_threads),
        thread_([this] { loop_.Run(); }) {}

  ~Serving() { Stop(); }

  const std::string& text() const { return text_; }
  uint16_t port() const { return address_.port; }

  void Stop() {
    loop_.Stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Handle(uint64_t connection, std::string request) {
    workers_.Run([this, connection, request = std::move(request)]() mutable {
      exchange_.Answer(std::move(request), [this, connection](std::string answer) {
        loop_.Reply(connection, std::move(answer));
      });
    });
  }

  const ListenAddress address_;
  const std::string text_;
  const HttpExchange exchange_;
  ConnectionLoop loop_;
  WorkerPool workers_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    std::string_view listen, HttpPages pages, const HttpServerOptions& options) {
  absl::StatusOr<ListenAddress> wanted = ParseListenAddress(listen);
  if (!wanted.ok()) return wanted.status();
  absl::StatusOr<std::vector<Listener>> listeners = Listener::OpenAll(*wanted);
  if (!listeners.ok()) return listeners.status();
  FileDescriptor wakeup(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wakeup.valid()) return absl::ErrnoToStatus(errno, "http-listen: eventfd");
  return std::unique_ptr<HttpServer>(new HttpServer(std::make_unique<Serving>(
      *std::move(listeners), std::move(wakeup), std::move(pages), options)));
}

HttpServer::HttpServer(std::unique_ptr<Serving> serving)
    : serving_(std::move(serving)) {}

HttpServer::~HttpServer() = default;

const std::string& HttpServer::address() const { return serving_->text(); }

uint16_t HttpServer::port() const { return serving_->port(); }

void HttpServer::Stop() { serving_->Stop(); }

}  // namespace evenpack
