#include "server/service/json_api.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/service/admission.h"
#include "server/service/job_calls.h"
#include "server/service/json_request.h"
#include "server/service/json_response.h"
#include "server/service/observe_calls.h"

namespace evenpack {
namespace {

template <typename Request>
struct ResponseTo;
template <>
struct ResponseTo<v1::ListJobsRequest> {
  using Type = v1::ListJobsResponse;
};
template <>
struct ResponseTo<v1::ObserveJobRequest> {
  using Type = v1::ObserveJobResponse;
};
template <>
struct ResponseTo<v1::ObserveMicroBatchRequest> {
  using Type = v1::ObserveMicroBatchResponse;
};

// By the Handle() that answers the same call over gRPC.
template <typename Request>
void AnswerCall(const ServiceEnvironment& environment, WorkerPool& pool,
                const Caller& caller, Request request, const HttpAnswer& answer) {
  struct Call {
    Request request;
    typename ResponseTo<Request>::Type response;
  };
  const auto call = std::make_shared<Call>();
  call->request = std::move(request);
  HandleAdmitted(environment, caller, call->request, call->response,
                 [call, &pool, answer](const absl::Status& status) {
                   pool.Run([call, answer, status] {
                     answer(status.ok() ? JsonOf(call->response) : JsonOf(status));
                   });
                 });
}

class JsonFolder {
 public:
  JsonFolder(const ServiceEnvironment& environment, WorkerPool& pool,
             std::function<bool()> knows_jobs)
      : environment_(environment), pool_(pool), knows_jobs_(std::move(knows_jobs)) {}

  void operator()(const HttpRequest& request, const HttpAnswer& answer) const {
    absl::StatusOr<JsonRequest> read = ReadJsonRequest(request);
    if (!read.ok()) return answer(JsonOf(read.status()));
    if (knows_jobs_ != nullptr && !knows_jobs_()) return answer(JsonOf(Starting()));
    if (++*waiting_ > kMaxJsonRequests) {
      --*waiting_;
      return answer(JsonOf(absl::UnavailableError(absl::StrCat(
          "requests: ", kMaxJsonRequests, " wait for the server's store; try again"))));
    }
    const HttpAnswer counted = [waiting = waiting_, answer](HttpResponse response) {
      --*waiting;
      answer(std::move(response));
    };
    std::visit(
        [this, &request, &counted](auto& call) {
          const std::vector<std::string_view> authorizations(
              request.authorizations.begin(), request.authorizations.end());
          AnswerCall(environment_, pool_, CallerOf(authorizations), std::move(call),
                     counted);
        },
        *read);
  }

 private:
  const ServiceEnvironment environment_;
  WorkerPool& pool_;
  const std::function<bool()> knows_jobs_;
  // Copies count together.
  const std::shared_ptr<std::atomic<int>> waiting_ =
      std::make_shared<std::atomic<int>>(0);
};

}  // namespace

void AddJsonApi(const ServiceEnvironment& environment, WorkerPool& pool,
                HttpPages& pages, std::function<bool()> knows_jobs) {
  pages.AddFolder({std::string(kJsonFolder), "jobs as JSON (docs/live-page.md)",
                   JsonFolder(environment, pool, std::move(knows_jobs))});
}

}  // namespace evenpack
