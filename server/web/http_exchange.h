// The HTTP protocol without sockets: a request's bytes in, the answer's bytes out.
#ifndef EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_
#define EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_

#include <functional>
#include <memory>
#include <string>

#include "server/web/http_pages.h"

namespace evenpack {

// Who may be named by a request's field Host.
enum class AcceptedHosts {
  kAny,
  kOwn,  // see IsOwnHost
};

// Thread-safe.
class HttpExchange {
 public:
  explicit HttpExchange(HttpPages pages, AcceptedHosts hosts = AcceptedHosts::kAny);
  ~HttpExchange();

  // GET and HEAD of the pages; 405 for other methods, 400 for what isn't HTTP, 421
  // (misdirected) for a host that isn't accepted.
  // `request` is the request line and the header fields; a body is not looked at. The
  // answer ends its connection. `send` takes it once: before Answer returns or, where a
  // folder is asked, from the thread that it answers from, while the exchange is there.
  void Answer(std::string request, std::function<void(std::string)> send) const;

 private:
  class Protocol;
  std::unique_ptr<Protocol> protocol_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_
