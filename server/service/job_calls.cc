#include "server/service/job_calls.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/runtime/unique_name.h"
#include "server/service/job_conversion.h"
#include "server/service/page_size.h"
#include "server/service/spec_conversion.h"
#include "server/service/step_conversion.h"

namespace evenpack {
namespace {

using JobPointer = std::shared_ptr<Job>;

// A page of more ends before: a quarter of what clients of gRPC take by default.
constexpr size_t kMaxPageBytes = 1 << 20;

// Where jobs are led, by name; empty where it is here alone.
using PlacesByName = std::map<std::string, std::string>;

// The jobs of a page, each described at its own time.
class JobList : public std::enable_shared_from_this<JobList> {
 public:
  // `elsewhere`: jobs of the page that aren't here.
  JobList(v1::ListJobsResponse& response, PlacesByName elsewhere, Answer answer)
      : response_(response),
        elsewhere_(std::move(elsewhere)),
        answer_(std::move(answer)) {}

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
    AddHere();
    for (const auto& [name, address] : elsewhere_) {
      // Where the page was ended earlier, they are on the next.
      if (ended_ && name > response_.next_page_token()) break;
      v1::JobPlace& place = *response_.add_led_elsewhere();
      place.set_name(name);
      place.set_address(address);
    }
    answer_(absl::OkStatus());
  }

  void AddHere() {
    size_t bytes = 0;
    for (size_t i = 0; i < statuses_.size(); ++i) {
      if (statuses_[i].ok()) {
        v1::Job& job = *response_.add_jobs();
        ToProto(*statuses_[i], job);
        bytes += job.ByteSizeLong();
        if (bytes <= kMaxPageBytes || response_.jobs_size() == 1) continue;
        response_.mutable_jobs()->RemoveLast();
        response_.set_next_page_token(names_[i - 1]);
        ended_ = true;
        return;
      }
      if (!absl::IsNotFound(statuses_[i].status())) {
        v1::BrokenJob& broken = *response_.add_broken_jobs();
        broken.set_name(names_[i]);
        broken.set_error(std::string(statuses_[i].status().message()));
      }
      // Else it was deleted meanwhile, or has moved, or is about to.
    }
  }

  v1::ListJobsResponse& response_;
  const PlacesByName elsewhere_;
  const Answer answer_;
  std::vector<std::string> names_;
  // By kMaxPageBytes.
  bool ended_ = false;
  std::vector<absl::StatusOr<JobStatus>> statuses_;
  std::atomic<size_t> left_ = 0;
};

// At most `most` jobs after a name, of those that may be shown.
std::vector<JobPointer> ListShown(const JobRegistry& registry, std::string after,
                                  size_t most, const JobFilter& shown) {
  if (shown == nullptr) return registry.List(after, most);
  std::vector<JobPointer> jobs;
  while (jobs.size() < most) {
    std::vector<JobPointer> next = registry.List(after, most);
    if (next.empty()) break;
    after = next.back()->name();
    for (JobPointer& job : next) {
      if (jobs.size() < most && shown(job->name())) jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

// Likewise of those that the database has, together with what was `found`.
void PlacesShown(Directory& directory, const std::string& after, size_t most,
                 const JobFilter& shown, std::vector<JobPlace> found,
                 const std::function<void(const Directory::Places&)>& done) {
  directory.List(after, most,
                 [&directory, most, shown, found = std::move(found),
                  done](const Directory::Places& places) mutable {
                   if (!places.ok()) return done(places);
                   for (const JobPlace& place : *places) {
                     if (shown == nullptr || shown(place.job)) found.push_back(place);
                   }
                   if (places->size() < most || found.size() >= most) {
                     return done(std::move(found));
                   }
                   PlacesShown(directory, places->back().job, most, shown,
                               std::move(found), done);
                 });
}

// `places`: the page and one more at least, as the database has them.
void ListPage(const JobRegistry& registry, const v1::ListJobsRequest& request,
              size_t size, const JobFilter& shown, const std::vector<JobPlace>& places,
              v1::ListJobsResponse& response, const Answer& answer) {
  // A page token is the last name of the page before.
  std::vector<JobPointer> jobs =
      ListShown(registry, request.page_token(), size + 1, shown);
  PlacesByName elsewhere;
  for (const JobPlace& place : places) {
    // One that should be here is still being read.
    elsewhere[place.job] = place.here ? "" : place.address;
  }
  for (const JobPointer& job : jobs) elsewhere.erase(job->name());
  std::string last;
  while (jobs.size() + elsewhere.size() > size) {
    const bool here =
        elsewhere.empty() ||
        (!jobs.empty() && jobs.back()->name() > elsewhere.rbegin()->first);
    if (here) {
      jobs.pop_back();
    } else {
      elsewhere.erase(std::prev(elsewhere.end()));
    }
    last = elsewhere.empty() ? "" : elsewhere.rbegin()->first;
    if (!jobs.empty()) last = std::max(last, jobs.back()->name());
  }
  response.set_next_page_token(last);
  std::make_shared<JobList>(response, std::move(elsewhere), answer)->Fill(jobs);
}

}  // namespace

void Handle(const ServiceEnvironment& environment, const v1::CreateJobRequest& request,
            v1::CreateJobResponse& response, const Answer& answer) {
  if (absl::Status status = CheckJobName(request.name()); !status.ok()) {
    return answer(status);
  }
  absl::StatusOr<JobSpec> spec = FromProto(request.spec(), FindProfileIn(environment));
  if (!spec.ok()) return answer(spec.status());
  environment.jobs.Create(
      request.name(), CreateJob{*std::move(spec), DrawNumber()},
      [&response, answer](const absl::StatusOr<JobStatus>& created) {
        if (!created.ok()) return answer(InSpecNames(created.status()));
        AnswerWithJob(created, *response.mutable_job(), answer);
      });
}

void Handle(const ServiceEnvironment& environment, const v1::GetJobRequest& request,
            v1::GetJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  AnswerWithJob(*job, *response.mutable_job(), answer);
}

void Handle(const ServiceEnvironment& environment, const v1::ListJobsRequest& request,
            v1::ListJobsResponse& response, const JobFilter& shown,
            const Answer& answer) {
  const absl::StatusOr<size_t> size = PageSize(request.page_size());
  if (!size.ok()) return answer(size.status());
  if (environment.directory == nullptr) {
    return ListPage(environment.jobs, request, *size, shown, {}, response, answer);
  }
  // Asked before the jobs that are here are listed: one that comes here meanwhile is
  // there twice, and one that goes is not missed.
  PlacesShown(*environment.directory, request.page_token(), *size + 1, shown, {},
              [&jobs = environment.jobs, &request, size = *size, shown, &response,
               answer](const Directory::Places& places) {
                if (!places.ok()) return answer(places.status());
                ListPage(jobs, request, size, shown, *places, response, answer);
              });
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
      [&request, &spec](uint64_t) {
        UpdateJob update;
        if (request.has_from_step()) update.from_step = request.from_step();
        update.spec = *std::move(spec);
        return update;
      },
      epoch,
      [&response, answer](const absl::StatusOr<JobStatus>& updated) {
        if (!updated.ok()) return answer(InSpecNames(updated.status()));
        AnswerWithJob(updated, *response.mutable_job(), answer);
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
  // A rank that the step's epoch didn't have receives it without micro-batches.
  if (!status.ok()) {
    // Null where the job was removed meanwhile.
    const std::shared_ptr<const JobSpec> spec = (*job)->Spec();
    status = spec == nullptr ? JobNotFound(request.job()) : CheckView(view, *spec);
  }
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
