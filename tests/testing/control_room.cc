#include "tests/testing/control_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/awaited.h"

namespace evenpack::testing {

std::shared_ptr<Job> ControlRoom::MakeJob(const JobSpec& spec,
                                          const std::string& name) {
  auto job = std::make_shared<Job>(name, environment());
  const absl::Status created = Do(*job, CreateJob{spec});
  EXPECT_TRUE(created.ok()) << created;
  return job;
}

std::shared_ptr<Job> ControlRoom::RecoverJob(const std::string& name) {
  auto job = std::make_shared<Job>(name, environment());
  const absl::Status recovered = job->Recover();
  EXPECT_TRUE(recovered.ok()) << recovered;
  return job;
}

void ControlRoom::DamageJob(const std::string& name) {
  std::string record = memory_.Load(name)->records[0];
  record.pop_back();
  const std::vector<StoreWrite> writes = {RemoveJob{name},
                                          AppendRecord{name, 0, record}};
  const absl::Status damaged = memory_.Commit(writes);
  EXPECT_TRUE(damaged.ok()) << damaged;
}

namespace {

class Bystander final : public CommitParticipant {
 public:
  uint64_t incarnation() const override { return 0; }
  void OnCommitFailed(const absl::Status&) override {}
  void AfterCommit() override {}
};

}  // namespace

void ControlRoom::AwaitCommits() {
  const Awaited<absl::Status> done;
  CommitEntry entry;
  entry.participant = std::make_shared<Bystander>();
  entry.done = done;
  committer_.Enqueue(std::move(entry));
  committer_.Flush();
  done.Get().IgnoreError();
}

namespace {

Ingest MakeIngest(uint64_t first_sequence, const std::vector<uint32_t>& lengths,
                  const std::string& stream) {
  Ingest command;
  command.stream = stream;
  command.first_sequence = first_sequence;
  command.lengths = lengths;
  return command;
}

}  // namespace

absl::Status Do(Job& job, const Command& command) {
  const Awaited<absl::Status> done;
  job.Submit(command, done);
  return done.Get();
}

absl::Status DoIngest(Job& job, uint64_t first_sequence,
                      const std::vector<uint32_t>& lengths, const std::string& stream) {
  return Do(job, MakeIngest(first_sequence, lengths, stream));
}

absl::Status DoIngestSoon(Job& job, uint64_t first_sequence,
                          const std::vector<uint32_t>& lengths,
                          const std::string& stream) {
  const Awaited<absl::Status> done;
  absl::Status status =
      job.Enqueue(MakeIngest(first_sequence, lengths, stream), done, nullptr);
  if (!status.ok()) return status;
  job.FlushSoon();
  return done.Get();
}

absl::Status DoUpdate(Job& job, const JobSpec& spec, std::optional<uint64_t> from,
                      std::optional<uint64_t> expected_epoch) {
  const Awaited<absl::StatusOr<JobStatus>> done;
  job.Reconfigure(
      [&](uint64_t next_step) {
        return UpdateJob{from.value_or(next_step), spec};
      },
      expected_epoch, done);
  return done.Get().status();
}

absl::Status DoRemove(Job& job) {
  const Awaited<absl::Status> done;
  job.Remove(done);
  return done.Get();
}

absl::StatusOr<JobStatus> Describe(Job& job) {
  const Awaited<absl::StatusOr<JobStatus>> status;
  job.Describe(status);
  return status.Get();
}

absl::StatusOr<StreamPosition> Open(Job& job, const std::string& stream) {
  const Awaited<absl::StatusOr<StreamPosition>> position;
  job.OpenStream(stream, position);
  return position.Get();
}

}  // namespace evenpack::testing
