#include "server/control/job_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/log.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

constexpr size_t kMaxNameLength = 128;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
         c == '-';
}

// The status is what the job answers from now on.
void LogUnlessRecovered(const std::string& name, const absl::Status& status) {
  if (status.ok()) return;
  Log(LogLevel::kError, "job not recovered",
      {{"job", name}, {"error", std::string(status.message())}});
}

absl::Status JobExists(const std::string& name) {
  return WithDetail(
      absl::AlreadyExistsError(absl::StrCat("name: '", name, "' is taken")),
      {"JOB_EXISTS", {{"job", name}}});
}

}  // namespace

absl::Status CheckJobName(const std::string& name, absl::string_view field) {
  if (!name.empty() && name.size() <= kMaxNameLength &&
      absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
      std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return InvalidField(field, absl::StrCat("'", name.substr(0, kMaxNameLength), "'"),
                      "1 to 128 characters of a-z, A-Z, 0-9, '.', '_' and '-', the "
                      "first a letter or digit");
}

absl::Status JobRegistry::Recover() {
  const absl::StatusOr<std::vector<std::string>> names = environment_.store.Jobs();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    auto job = std::make_shared<Job>(name, environment_);
    LogUnlessRecovered(name, job->Recover());
    MutexLock lock(mutex_);
    jobs_[name] = {std::move(job), next_number_++};
  }
  return absl::OkStatus();
}

void JobRegistry::Create(const std::string& name, const Command& command,
                         Job::DoneWith<JobStatus> done) {
  absl::Status status = CheckJobName(name);
  std::shared_ptr<Job> job;
  if (status.ok()) {
    MutexLock lock(mutex_);
    if (jobs_.contains(name)) {
      status = JobExists(name);
    } else if (jobs_.size() >= max_jobs_) {
      status = WithDetail(
          absl::ResourceExhaustedError(absl::StrCat("jobs: there are ", jobs_.size(),
                                                    ", as many as this server holds")),
          {"TOO_MANY_JOBS", {{"limit", absl::StrCat(max_jobs_)}}});
    } else {
      job = std::make_shared<Job>(name, environment_);
      jobs_[name] = {job, next_number_++};
    }
  }
  if (!status.ok()) return done(status);
  job->Change(command, [this, job, done = std::move(done)](
                           const absl::StatusOr<JobStatus>& created) {
    if (!created.ok()) DropUnmade(job);
    done(absl::IsAlreadyExists(created.status()) ? JobExists(job->name()) : created);
  });
}

void JobRegistry::Remove(const std::string& name, Job::Done done) {
  const absl::StatusOr<std::shared_ptr<Job>> job = Find(name);
  if (!job.ok()) return done(job.status());
  (*job)->Remove(
      [this, job = *job, done = std::move(done)](const absl::Status& removed) {
        if (removed.ok()) Drop(job);
        done(removed);
      });
}

absl::Status JobRegistry::Adopt(const std::string& name) {
  if (Holds(name)) return absl::OkStatus();
  absl::StatusOr<StoredJob> stored = environment_.store.Load(name);
  if (!stored.ok() && !absl::IsDataLoss(stored.status())) return stored.status();
  auto job = std::make_shared<Job>(name, environment_);
  LogUnlessRecovered(name, job->RecoverFrom(std::move(stored)));
  MutexLock lock(mutex_);
  jobs_.try_emplace(name, Held{std::move(job), next_number_++});
  return absl::OkStatus();
}

void JobRegistry::DropUnmade(const std::shared_ptr<Job>& job) {
  // Where it stands after all it is read anew: what was found meanwhile isn't it.
  job->Abandon();
  Drop(job);
  job->EndCalls();
}

void JobRegistry::Drop(const std::shared_ptr<Job>& job) {
  std::shared_ptr<Job> dropped;  // freed under no lock
  MutexLock lock(mutex_);
  const auto found = jobs_.find(job->name());
  if (found == jobs_.end() || found->second.job != job) return;
  dropped = std::move(found->second.job);
  jobs_.erase(found);
}

bool JobRegistry::Holds(const std::string& name) const {
  MutexLock lock(mutex_);
  return jobs_.contains(name);
}

absl::StatusOr<std::shared_ptr<Job>> JobRegistry::Find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return JobNotFound(name);
  return found->second.job;
}

std::vector<std::shared_ptr<Job>> JobRegistry::List(const std::string& after,
                                                    size_t most) const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Job>> jobs;
  for (auto job = jobs_.upper_bound(after); job != jobs_.end() && jobs.size() < most;
       ++job) {
    jobs.push_back(job->second.job);
  }
  return jobs;
}

std::vector<std::shared_ptr<Job>> JobRegistry::ByAge() const {
  std::vector<Held> held;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, job] : jobs_) held.push_back(job);
  }
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return a.number < b.number; });
  std::vector<std::shared_ptr<Job>> jobs;
  jobs.reserve(held.size());
  for (Held& job : held) jobs.push_back(std::move(job.job));
  return jobs;
}

}  // namespace evenpack
