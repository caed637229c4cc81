// What a call is told of a job or a profile that this server doesn't have, where others
// may: the one place where calls' ends pass.
#ifndef EVENPACK_SERVER_SERVICE_WHERE_LED_H_
#define EVENPACK_SERVER_SERVICE_WHERE_LED_H_

#include "absl/status/status.h"
#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack {

// `end` gets the status of a call; in place of one that says that there is no such job,
// where other servers share the store, what Directory::WhereIs says. Returns at once.
void EndWhereLed(const ServiceEnvironment& environment, const absl::Status& status,
                 const Answer& end);

// Whether the status says that a profile is missed that another server may have written
// to a shared store.
bool MayKnowProfile(const ServiceEnvironment& environment, const absl::Status& missed);

// The Handle() of these messages, and EndWhereLed. A call that misses a profile is
// handled again, once, after the profiles were read again. Messages and environment
// stay until the answer.
template <typename Request, typename Response>
void HandleWhereLed(const ServiceEnvironment& environment, const Request& request,
                    Response& response, const Answer& answer) {
  const Answer end = [&environment, answer](const absl::Status& status) {
    EndWhereLed(environment, status, answer);
  };
  Handle(environment, request, response,
         [&environment, &request, &response, end](const absl::Status& status) {
           if (!MayKnowProfile(environment, status)) return end(status);
           environment.directory->ReadProfiles(
               [&environment, &request, &response, end](const absl::Status& read) {
                 if (!read.ok()) return end(read);
                 response.Clear();
                 Handle(environment, request, response, end);
               });
         });
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_WHERE_LED_H_
