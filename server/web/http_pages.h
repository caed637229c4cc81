// What the HTTP port has to offer.
#ifndef EVENPACK_SERVER_WEB_HTTP_PAGES_H_
#define EVENPACK_SERVER_WEB_HTTP_PAGES_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace evenpack {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

// A GET or HEAD.
struct HttpRequest {
  // Both decoded; a name may come more than once.
  std::string path;
  std::multimap<std::string, std::string> query = {};
  // That field of the header; empty where there is none.
  std::string if_none_match = {};
  // Each of those that there are, as it was sent.
  std::vector<std::string> authorizations = {};
};

struct HttpResponse {
  int status = 200;
  std::string content_type{kPlainText};
  std::string body;
  // Fields of the header, in place of those that every answer has.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpPage {
  std::string path;   // begins with '/'
  std::string about;  // a line for the list of pages
  // Thread-safe, and returns in a bounded time: few threads serve all requests.
  std::function<HttpResponse()> handler;
};

// Takes a response once, from any thread.
using HttpAnswer = std::function<void(HttpResponse)>;

// A path and all those below it, answered when what they ask for is there.
struct HttpFolder {
  std::string path;   // begins with '/' and does not end so
  std::string about;  // as HttpPage has it
  // Thread-safe, throws nothing and returns soon, as a page's does: what takes its time
  // is waited for elsewhere, and then answered.
  std::function<void(const HttpRequest&, HttpAnswer)> handler;
};

// Thread-safe once all pages are added.
class HttpPages {
 public:
  // No two may have the same path, and no folder one below another's.
  void Add(HttpPage page);
  void AddFolder(HttpFolder folder);

  // The folder that answers for the path; null where none does, and Answer is asked.
  const HttpFolder* FindFolder(std::string_view path) const;
  // What the path's page says. Where there is none, "/pages" lists all, as "/" does,
  // and any other path is 404 (not found).
  HttpResponse Answer(std::string_view path) const;

 private:
  HttpResponse List() const;

  // As they were added.
  std::vector<std::variant<HttpPage, HttpFolder>> pages_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_PAGES_H_
