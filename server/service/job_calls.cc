#include "server/service/job_calls.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/service/job_conversion.h"
#include "server/service/page_size.h"
#include "server/service/spec_conversion.h"
#include "server/service/step_conversion.h"

namespace evenpack {
namespace {

using JobPointer = std::shared_ptr<Job>;

// The jobs of a page, each described at its own time.
class JobList : public std::enable_shared_from_this<JobList> {
 public:
  JobList(v1::ListJobsResponse& response, Answer answer)
      : response_(response), answer_(std::move(answer)) {}

  void Fill(const std::vector<JobPointer>& jobs) {
    statuses_.assign(jobs.size(), absl::UnknownError(""));
    left_ = jobs.size() + 1;
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i]->Describe(
          [self = shared_from_this(), i](const absl::StatusOr<JobStatus>& status) {
            self->statuses_[i] = status;
            self->Finish();
          });
      names_.push_back(jobs[i]->name());
    }
    Finish();
  }

 private:
  void Finish() {
    if (--left_ > 0) return;
    for (size_t i = 0; i < statuses_.size(); ++i) {
      if (statuses_[i].ok()) {
        ToProto(*statuses_[i], *response_.add_jobs());
      } else if (!absl::IsNotFound(statuses_[i].status())) {
        v1::BrokenJob& broken = *response_.add_broken_jobs();
        broken.set_name(names_[i]);
        broken.set_error(std::string(statuses_[i].status().message()));
      }
      // Else it was deleted meanwhile.
    }
    answer_(absl::OkStatus());
  }

  v1::ListJobsResponse& response_;
  const Answer answer_;
  std::vector<std::string> names_;
  std::vector<absl::StatusOr<JobStatus>> statuses_;
  std::atomic<size_t> left_ = 0;
};

}  // namespace

void Handle(const ServiceEnvironment& environment, const v1::CreateJobRequest& request,
            v1::CreateJobResponse& response, const Answer& answer) {
  if (absl::Status status = CheckJobName(request.name()); !status.ok()) {
    return answer(status);
  }
  absl::StatusOr<JobSpec> spec = FromProto(request.spec(), FindProfileIn(environment));
  if (!spec.ok()) return answer(spec.status());
  environment.jobs.Create(request.name(), CreateJob{*std::move(spec)},
                          [&jobs = environment.jobs, &request, &response,
                           answer](const absl::Status& status) {
                            AnswerWithJob(InSpecNames(status), jobs, request.name(),
                                          *response.mutable_job(), answer);
                          });
}

void Handle(const ServiceEnvironment& environment, const v1::GetJobRequest& request,
            v1::GetJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  AnswerWithJob(*job, *response.mutable_job(), answer);
}

void Handle(const ServiceEnvironment& environment, const v1::ListJobsRequest& request,
            v1::ListJobsResponse& response, const Answer& answer) {
  const absl::StatusOr<size_t> size = PageSize(request.page_size());
  if (!size.ok()) return answer(size.status());
  // A page token is the last name of the page before.
  std::vector<JobPointer> jobs = environment.jobs.List(request.page_token(), *size + 1);
  if (jobs.size() > *size) {
    jobs.pop_back();
    response.set_next_page_token(jobs.back()->name());
  }
  std::make_shared<JobList>(response, answer)->Fill(jobs);
}

void Handle(const ServiceEnvironment& environment, const v1::UpdateJobRequest& request,
            v1::UpdateJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  absl::StatusOr<JobSpec> spec = FromProto(request.spec(), FindProfileIn(environment));
  if (!spec.ok()) return answer(spec.status());
  std::optional<uint64_t> epoch;
  if (request.has_expected_epoch()) epoch = request.expected_epoch();
  (*job)->Reconfigure(
      [&request, &spec](uint64_t next_step) {
        const uint64_t from = request.has_from_step() ? request.from_step() : next_step;
        return UpdateJob{from, *std::move(spec)};
      },
      epoch,
      [job = *job, &response, answer](const absl::Status& status) {
        if (!status.ok()) return answer(InSpecNames(status));
        AnswerWithJob(job, *response.mutable_job(), answer);
      });
}

void Handle(const ServiceEnvironment& environment, const v1::DeleteJobRequest& request,
            v1::DeleteJobResponse&, const Answer& answer) {
  environment.jobs.Remove(request.name(), answer);
}

void Handle(const ServiceEnvironment& environment, const v1::GetStepRequest& request,
            v1::GetStepResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  const auto step = (*job)->FindStep(request.step());
  if (!step.ok()) return answer(step.status());
  StepView view;
  view.dp_rank = request.dp_rank();
  if (request.has_cp_rank()) view.cp_rank = request.cp_rank();
  absl::Status status = CheckView(view, *(*step)->spec);
  if (status.ok()) ToProto(**step, view, *response.mutable_step());
  answer(status);
}

void Handle(const ServiceEnvironment& environment,
            const v1::AcknowledgeRequest& request, v1::AcknowledgeResponse& response,
            const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  const absl::StatusOr<uint64_t> marked = (*job)->DurableStepsOf(request.dp_rank());
  if (!marked.ok()) return answer(marked.status());
  (*job)->Submit(Acknowledge{request.dp_rank(), request.step(), request.epoch()},
                 [job = *job, rank = request.dp_rank(), &response,
                  answer](const absl::Status& status) {
                   if (!status.ok()) return answer(status);
                   const absl::StatusOr<uint64_t> durable = job->DurableStepsOf(rank);
                   if (durable.ok()) response.set_durable_steps(*durable);
                   answer(durable.status());
                 });
}

}  // namespace evenpack
