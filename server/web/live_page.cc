#include "server/web/live_page.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace evenpack {
namespace {

constexpr std::string_view kFolder = "/page";

std::string ContentType(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".json", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return std::string(type);
  }
  return "application/octet-stream";
}

HttpResponse ResponseOf(const PageFile& file) {
  HttpResponse response;
  response.content_type = ContentType(file.name);
  response.body.assign(file.bytes.begin(), file.bytes.end());
  response.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy",
                       "default-src 'self'; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'"},
                      {"ETag", std::string(file.entity_tag)},
                      {"Referrer-Policy", "no-referrer"}};
  return response;
}

const PageFile* Find(std::span<const PageFile> files, std::string_view name) {
  const auto found =
      std::find_if(files.begin(), files.end(),
                   [name](const PageFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

HttpResponse AnswerOf(std::span<const PageFile> files, const HttpRequest& request) {
  const std::string_view below = std::string_view(request.path).substr(kFolder.size());
  const PageFile* const file = below.empty() ? nullptr : Find(files, below.substr(1));
  if (file == nullptr) return {404, std::string(kPlainText), "no such file\n"};
  HttpResponse response = ResponseOf(*file);
  if (request.if_none_match != file->entity_tag) return response;
  response.status = 304;
  response.body.clear();
  return response;
}

}  // namespace

void AddLivePage(std::span<const PageFile> files, HttpPages& pages) {
  if (const PageFile* const index = Find(files, "index.html"); index != nullptr) {
    pages.Add({"/", "the jobs as they are, for a browser",
               [index] { return ResponseOf(*index); }});
  }
  pages.AddFolder({std::string(kFolder), "the files of that page",
                   [files](const HttpRequest& request, const HttpAnswer& answer) {
                     answer(AnswerOf(files, request));
                   }});
}

}  // namespace evenpack
