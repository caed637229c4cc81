// What the streams of the service have in common: each is about the job that its first
// message names, for a caller who may have it.
#ifndef EVENPACK_SERVER_SERVICE_JOB_STREAM_CALL_H_
#define EVENPACK_SERVER_SERVICE_JOB_STREAM_CALL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/control/job.h"
#include "server/service/admission.h"
#include "server/service/service_environment.h"
#include "server/service/stream_call.h"

namespace evenpack {

class JobStreamCall : public StreamCall {
 public:
  JobStreamCall(const ServiceEnvironment& environment,
                const grpc::ServerContextBase& context, const StreamKind& kind,
                LiveCalls& calls)
      : StreamCall(calls),
        environment_(environment),
        admission_(environment, context, kind) {}

  void Drain() final;
  void RolesChanged() final;

 protected:
  // A job that the caller may name. Then its place among the job's calls.
  absl::StatusOr<std::shared_ptr<Job>> FindJob(const std::string& name);
  absl::Status Hold(const Job& job) { return admission_.Hold(job.name()); }
  // Whether response_, by its message's name, is no larger than may be; else the call
  // ends with that.
  bool Fits(const std::string& message) EVENPACK_REQUIRES(mutex_);

  const ServiceEnvironment environment_;
  // Set by the first read, constant from then on.
  std::shared_ptr<Job> job_;

 private:
  absl::Status Admit() final { return admission_.Open(); }
  absl::Status TooMany(const LiveCalls& calls) final { return TooManyCalls(calls); }
  void FinishWith(const absl::Status& status) final;
  void Left() final;
  // Only where job_ is set.
  virtual void LeaveJob() = 0;

  StreamAdmission admission_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_STREAM_CALL_H_
