#include "client/cli/verify_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/digest/digest.h"
#include "server/core/engine/replay.h"
#include "server/store/sqlite_store.h"

namespace evenpack {
namespace {

struct JobReport {
  std::string name;
  // Empty where the job is whole; what follows means nothing else.
  std::string error;
  uint64_t records = 0;
  uint64_t snapshot_records = 0;
  uint64_t bytes = 0;
  uint64_t next_step = 0;
  uint64_t durable_steps = 0;
  std::string digest;
};

JobReport Verify(SqliteStore& store, const std::string& name) {
  JobReport report;
  report.name = name;
  const absl::StatusOr<StoredJob> stored = store.Load(name);
  if (!stored.ok()) {
    report.error = std::string(stored.status().message());
    return report;
  }
  report.snapshot_records = stored->snapshot_records;
  report.records = stored->snapshot_records + stored->records.size();
  report.bytes = stored->snapshot.size();
  for (const std::string& record : stored->records) report.bytes += record.size();
  const absl::StatusOr<JobState> state =
      Replay(stored->snapshot, stored->snapshot_records, stored->records);
  if (!state.ok()) {
    report.error = std::string(state.status().message());
    return report;
  }
  report.next_step = state->position.next_step;
  report.durable_steps = DurableSteps(*state);
  report.digest = ToHex(state->position.digest);
  return report;
}

std::string Json(const std::vector<JobReport>& jobs, bool ok) {
  nlohmann::ordered_json json;
  json["ok"] = ok;
  json["jobs"] = nlohmann::ordered_json::array();
  for (const JobReport& job : jobs) {
    nlohmann::ordered_json& row = json["jobs"].emplace_back();
    row["name"] = job.name;
    row["ok"] = job.error.empty();
    row["records"] = job.records;
    row["snapshot_records"] = job.snapshot_records;
    row["bytes"] = job.bytes;
    row["next_step"] = job.next_step;
    row["durable_steps"] = job.durable_steps;
    row["digest"] = job.digest;
    row["error"] = job.error;
  }
  return json.dump(2) + "\n";
}

std::string Text(const std::vector<JobReport>& jobs) {
  std::string text;
  for (const JobReport& job : jobs) {
    if (job.error.empty()) {
      absl::StrAppend(&text, job.name, ": whole, ", job.records, " records, ",
                      job.snapshot_records, " of them in the snapshot, ", job.next_step,
                      " steps, ", job.durable_steps, " durable, digest ", job.digest,
                      "\n");
    } else {
      absl::StrAppend(&text, job.name, ": DAMAGED: ", job.error, "\n");
    }
  }
  absl::StrAppend(&text, jobs.size(), jobs.size() == 1 ? " job\n" : " jobs\n");
  return text;
}

}  // namespace

absl::StatusOr<CommandOutput> RunVerifyCommand(const FlagValues& values) {
  const std::string path(absl::StripPrefix(values.at("FILE"), "sqlite:"));
  const absl::StatusOr<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(path, SqliteStore::Access::kReadOnly);
  if (!store.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", store.status().message()));
  }
  const absl::StatusOr<std::vector<std::string>> names = (*store)->Jobs();
  if (!names.ok()) return names.status();
  std::vector<JobReport> jobs;
  jobs.reserve(names->size());
  for (const std::string& name : *names) jobs.push_back(Verify(**store, name));
  const bool ok = std::all_of(jobs.begin(), jobs.end(),
                              [](const JobReport& job) { return job.error.empty(); });
  CommandOutput output;
  output.text = IsGiven(values, "--json") ? Json(jobs, ok) : Text(jobs);
  output.failed = !ok;
  if (!ok) output.note = absl::StrCat("evenpackctl: ", path, " is damaged\n");
  return output;
}

}  // namespace evenpack
