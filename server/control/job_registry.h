// The jobs of a server, by name.
#ifndef EVENPACK_SERVER_CONTROL_JOB_REGISTRY_H_
#define EVENPACK_SERVER_CONTROL_JOB_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/control/job.h"
#include "server/core/engine/job_spec.h"
#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe.
class JobRegistry {
 public:
  // `max_jobs`: how many there can be at a time.
  JobRegistry(ControlEnvironment environment, size_t max_jobs)
      : environment_(std::move(environment)), max_jobs_(max_jobs) {}

  // Takes over the jobs that the store has. A job that can't be recovered is kept and
  // answers with the reason. Before anything else.
  absl::Status Recover();

  // `command`: CreateJob or RestoreJob. INVALID_ARGUMENT: the name. ALREADY_EXISTS,
  // RESOURCE_EXHAUSTED: too many jobs; and as Job::Change.
  void Create(const std::string& name, const Command& command,
              Job::DoneWith<JobStatus> done);
  // NOT_FOUND as Find; and as Job::Remove.
  void Remove(const std::string& name, Job::Done done);

  // Takes over a job that another server led, as Recover does; waits for the store.
  // Nothing where there is a job of that name. OK, the job is there; else the store's
  // error, and it isn't.
  absl::Status Adopt(const std::string& name);
  // From here on there is no such job; nothing where another has the name by now.
  void Drop(const std::shared_ptr<Job>& job);

  // NOT_FOUND for a job that there isn't.
  absl::StatusOr<std::shared_ptr<Job>> Find(const std::string& name) const;
  // At most `most` jobs whose names are above `after`, by name.
  std::vector<std::shared_ptr<Job>> List(const std::string& after, size_t most) const;
  // All of them, oldest first.
  std::vector<std::shared_ptr<Job>> ByAge() const;

 private:
  struct Held {
    std::shared_ptr<Job> job;
    // In the order in which they came.
    uint64_t number = 0;
  };

  bool Holds(const std::string& name) const;
  // Of a creation that failed: there is no such job for those either who found it.
  void DropUnmade(const std::shared_ptr<Job>& job);

  const ControlEnvironment environment_;
  const size_t max_jobs_;
  mutable Mutex mutex_;
  std::map<std::string, Held> jobs_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t next_number_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

// INVALID_ARGUMENT unless it is 1 to 128 of a-z, A-Z, 0-9, '.', '_', '-', the first a
// letter or digit.
absl::Status CheckJobName(const std::string& name, absl::string_view field = "name");

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_REGISTRY_H_
