#include "server/web/operator_pages.h"

#include <utility>

namespace evenpack {
namespace {

HttpResponse Plain(int status, std::string body) {
  return {status, std::string(kPlainText), std::move(body)};
}

}  // namespace

HttpPages OperatorPages(std::function<std::string()> metrics_text,
                        std::function<bool()> ready) {
  HttpPages pages;
  pages.Add({"/metrics", "figures for Prometheus",
             [metrics_text = std::move(metrics_text)]() -> HttpResponse {
               return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text()};
             }});
  pages.Add(
      {"/healthz", "200 while the server runs", [] { return Plain(200, "ok\n"); }});
  pages.Add({"/readyz", "200 while it takes calls, 503 while it starts or drains",
             [ready = std::move(ready)] {
               return ready() ? Plain(200, "ready\n") : Plain(503, "not ready\n");
             }});
  return pages;
}

}  // namespace evenpack
