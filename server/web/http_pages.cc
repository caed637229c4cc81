#include "server/web/http_pages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

bool IsAtOrBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

void HttpPages::Add(HttpPage page) { pages_.emplace_back(std::move(page)); }

void HttpPages::AddFolder(HttpFolder folder) { pages_.emplace_back(std::move(folder)); }

const HttpFolder* HttpPages::FindFolder(std::string_view path) const {
  for (const auto& entry : pages_) {
    const auto* const folder = std::get_if<HttpFolder>(&entry);
    if (folder != nullptr && IsAtOrBelow(path, folder->path)) return folder;
  }
  return nullptr;
}

HttpResponse HttpPages::Answer(std::string_view path) const {
  for (const auto& entry : pages_) {
    const auto* const page = std::get_if<HttpPage>(&entry);
    if (page != nullptr && page->path == path) return page->handler();
  }
  if (path == "/" || path == "/pages") return List();
  HttpResponse response;
  response.status = 404;
  response.body = "no such page; /pages lists those that there are\n";
  return response;
}

HttpResponse HttpPages::List() const {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& entry : pages_) {
    std::visit(
        [&lines](const auto& page) { lines.emplace_back(page.path, page.about); },
        entry);
  }
  size_t width = 0;
  for (const auto& [path, about] : lines) width = std::max(width, path.size());
  HttpResponse response;
  for (const auto& [path, about] : lines) {
    absl::StrAppend(&response.body, path, std::string(width - path.size() + 2, ' '),
                    about, "\n");
  }
  return response;
}

}  // namespace evenpack
