#include "server/web/http_pages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {

void HttpPages::Add(HttpPage page) { pages_.push_back(std::move(page)); }

HttpResponse HttpPages::Answer(std::string_view path) const {
  const auto page =
      std::find_if(pages_.begin(), pages_.end(),
                   [path](const HttpPage& other) { return other.path == path; });
  if (page != pages_.end()) return page->handler();
  if (path == "/") return List();
  HttpResponse response;
  response.status = 404;
  response.body = "no such page; / lists those that there are\n";
  return response;
}

HttpResponse HttpPages::List() const {
  size_t width = 0;
  for (const HttpPage& page : pages_) width = std::max(width, page.path.size());
  HttpResponse response;
  for (const HttpPage& page : pages_) {
    absl::StrAppend(&response.body, page.path,
                    std::string(width - page.path.size() + 2, ' '), page.about, "\n");
  }
  return response;
}

}  // namespace evenpack
