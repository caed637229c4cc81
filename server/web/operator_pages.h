// The pages that operators and their tools expect.
#ifndef EVENPACK_SERVER_WEB_OPERATOR_PAGES_H_
#define EVENPACK_SERVER_WEB_OPERATOR_PAGES_H_

#include <functional>
#include <string>

#include "server/web/http_pages.h"

namespace evenpack {

// /metrics: what `metrics_text` returns, in Prometheus' text format 0.0.4.
// /healthz: 200 while the process serves at all.
// /readyz: 200 while `ready` returns true, else 503; false while starting or draining.
// Both functions are thread-safe and live as long as the pages.
HttpPages OperatorPages(std::function<std::string()> metrics_text,
                        std::function<bool()> ready);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_OPERATOR_PAGES_H_
