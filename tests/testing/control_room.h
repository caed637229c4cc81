// Jobs over a store that can fail, a clock that stands still, and calls that wait.
#ifndef EVENPACK_TESTS_TESTING_CONTROL_ROOM_H_
#define EVENPACK_TESTS_TESTING_CONTROL_ROOM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/control/committer.h"
#include "server/control/job.h"
#include "server/runtime/worker_pool.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_store.h"
#include "tests/testing/memory_store.h"

namespace evenpack::testing {

class ControlRoom {
 public:
  // `commit_waits`: as StateStore::CommitWaits. `gather`: as Committer has it.
  explicit ControlRoom(bool commit_waits = true, std::chrono::microseconds gather = {})
      : store_(memory_, commit_waits), committer_(store_, gather) {}
  // Over a store that is not this room's alone, and outlives it.
  explicit ControlRoom(StateStore& shared) : store_(shared), committer_(store_) {}
  // A store that stands still goes on then.
  ~ControlRoom() { store_.Release(); }

  MemoryStore& memory() { return memory_; }
  FaultStore& store() { return store_; }
  FakeClock& clock() { return clock_; }
  Committer& committer() { return committer_; }
  ControlEnvironment environment() {
    return {committer_,     store_,        pool_,        clock_,
            tokens_travel_, payload_root_, calibration_, forecast_};
  }
  // Returns once what was enqueued before is committed, or failed and was read back.
  void AwaitCommits();

  // As ControlEnvironment has it: no job's do unless this was called.
  void SetTokensTravel(std::function<bool(const JobSpec&)> travel) {
    tokens_travel_ = std::move(travel);
  }
  // As ControlEnvironment has it, for the jobs that are made from here on.
  void SetPayloadRoot(PayloadRoot root) { payload_root_ = std::move(root); }

  // As ControlEnvironment has it, for the jobs that are made from here on.
  void SetCalibration(CalibrationTerms terms) { calibration_ = std::move(terms); }

  // A job whose creation is committed.
  std::shared_ptr<Job> MakeJob(const JobSpec& spec, const std::string& name = "job");
  // What another server would make of what the store holds. The two must not both go
  // on.
  std::shared_ptr<Job> RecoverJob(const std::string& name = "job");
  // The store has but the first record of a job from here on, and that cut short.
  void DamageJob(const std::string& name = "job");
  // As ControlEnvironment has it, for the jobs that are made from here on.
  void SetForecast(ForecastTermsOf terms) { forecast_ = std::move(terms); }

 private:
  std::function<bool(const JobSpec&)> tokens_travel_;
  PayloadRoot payload_root_;
  CalibrationTerms calibration_;
  ForecastTermsOf forecast_;
  MemoryStore memory_;
  FaultStore store_;
  FakeClock clock_;
  // Ends after the committer, whose callbacks use it.
  WorkerPool pool_{2};
  Committer committer_;
};

// Job's requests, as calls that return with the answer.
absl::Status Do(Job& job, const Command& command);
absl::Status DoIngest(Job& job, uint64_t first_sequence,
                      const std::vector<uint32_t>& lengths,
                      const std::string& stream = "a");
// The same of a batch that may wait for others, as Job::FlushSoon has it.
absl::Status DoIngestSoon(Job& job, uint64_t first_sequence,
                          const std::vector<uint32_t>& lengths,
                          const std::string& stream = "a");
absl::Status DoUpdate(Job& job, const JobSpec& spec, std::optional<uint64_t> from = {},
                      std::optional<uint64_t> expected_epoch = {});
absl::Status DoRemove(Job& job);
absl::StatusOr<JobStatus> Describe(Job& job);
absl::StatusOr<StreamPosition> Open(Job& job, const std::string& stream = "a");

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_CONTROL_ROOM_H_
