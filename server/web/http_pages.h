// What the HTTP port has to offer.
#ifndef EVENPACK_SERVER_WEB_HTTP_PAGES_H_
#define EVENPACK_SERVER_WEB_HTTP_PAGES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace evenpack {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

struct HttpResponse {
  int status = 200;
  std::string content_type{kPlainText};
  std::string body;
};

struct HttpPage {
  std::string path;   // begins with '/'
  std::string about;  // a line for the list of pages
  // Thread-safe, and returns in a bounded time: few threads serve all requests.
  std::function<HttpResponse()> handler;
};

// Thread-safe once all pages are added.
class HttpPages {
 public:
  // No two may have the same path.
  void Add(HttpPage page);

  // What the path's page says. Where there is none, "/" lists the pages, and any other
  // path is 404 (not found).
  HttpResponse Answer(std::string_view path) const;

 private:
  HttpResponse List() const;

  std::vector<HttpPage> pages_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_PAGES_H_
