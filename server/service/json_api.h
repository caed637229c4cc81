// The service's answers as JSON on the HTTP port, for the live page and for scripts
// (docs/live-page.md): the calls of observers, and nothing that changes a job.
#ifndef EVENPACK_SERVER_SERVICE_JSON_API_H_
#define EVENPACK_SERVER_SERVICE_JSON_API_H_

#include <functional>

#include "server/runtime/worker_pool.h"
#include "server/service/service_environment.h"
#include "server/web/http_pages.h"

namespace evenpack {

// Requests that may wait for a commit at a time; one more is told to try again.
inline constexpr int kMaxJsonRequests = 32;

// Adds the folder kJsonFolder (json_request.h). Answers are written on the pool's
// threads, so that a large one holds up no commit. Both outlive the pages and every
// request. `knows_jobs`: whether what isn't found isn't there; until then requests are
// told to try again. Thread-safe; null: always.
void AddJsonApi(const ServiceEnvironment& environment, WorkerPool& pool,
                HttpPages& pages, std::function<bool()> knows_jobs = nullptr);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JSON_API_H_
