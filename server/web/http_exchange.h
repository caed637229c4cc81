// The HTTP protocol without sockets: a request's bytes in, the answer's bytes out.
#ifndef EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_
#define EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_

#include <memory>
#include <string>

#include "server/web/http_pages.h"

namespace evenpack {

// Thread-safe.
class HttpExchange {
 public:
  explicit HttpExchange(HttpPages pages);
  ~HttpExchange();

  // GET and HEAD of the pages; 405 for other methods, 400 for what isn't HTTP.
  // `request` is the request line and the header fields; a body is not looked at. The
  // answer ends its connection.
  std::string Answer(std::string request) const;

 private:
  class Protocol;
  std::unique_ptr<Protocol> protocol_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_EXCHANGE_H_
