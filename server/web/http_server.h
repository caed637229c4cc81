// The HTTP port: serves pages to operators and to Prometheus.
//
//   HttpPages pages = OperatorPages(metrics_text, ready);
//   auto server = HttpServer::Start("127.0.0.1:0", std::move(pages));
//   if (!server.ok()) return server.status();
//   std::cout << "http listening on " << (*server)->address() << "\n";
#ifndef EVENPACK_SERVER_WEB_HTTP_SERVER_H_
#define EVENPACK_SERVER_WEB_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/runtime/clock.h"
#include "server/web/http_pages.h"

namespace evenpack {

// What bounds the port's use of threads, memory and file descriptors, whatever its
// clients do.
struct HttpServerOptions {
  // That run pages' handlers. At least 1.
  int handler_threads = 4;
  // Open at once, at least 1. A new one beyond takes the place of one that is idle or
  // slow. Each may hold an answer that its client has not taken.
  size_t max_connections = 64;
  // Of a request's line and header fields; bodies are not read.
  size_t max_request_bytes = 8192;
  // From connected until the request is whole.
  std::chrono::milliseconds request_timeout{5000};
  // For a client to take its answer.
  std::chrono::milliseconds answer_timeout{10'000};
  // Outlives the server.
  const Clock* clock = &Clock::Steady();
};

// Each connection serves one request. On a loopback address a request for a host that
// isn't this machine's is refused (IsOwnHost). Thread-safe, but for Stop and the end.
class HttpServer {
 public:
  // Serves when it returns. `listen` is HOST:PORT or [IPV6]:PORT, of which all
  // addresses are taken; port 0 takes any that is free. Errors name http-listen and the
  // address; see ParseListenAddress and Listener::OpenAll.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      std::string_view listen, HttpPages pages, const HttpServerOptions& options = {});
  ~HttpServer();

  // HOST:PORT that it listens on, the host's first address as a number.
  const std::string& address() const;
  uint16_t port() const;

  // Closes the port. Requests that are whole are answered first: returns when they are
  // and their clients took the answers, or two seconds later.
  // Not from a handler. May be called again.
  void Stop();

 private:
  class Serving;
  explicit HttpServer(std::unique_ptr<Serving> serving);

  std::unique_ptr<Serving> serving_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_SERVER_H_
