#include "client/cli/verify_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/json_text.h"
#include "server/core/digest/digest.h"
#include "server/core/engine/replay.h"
#include "server/runtime/one_line.h"
#include "server/store/sqlite_store.h"

namespace evenpack {
namespace {

struct JobReport {
  std::string name;
  // Empty where the job is whole; what follows means nothing else.
  std::string error;
  // The error is that it is of a version that this program doesn't know.
  bool other_version = false;
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
    report.other_version = absl::IsFailedPrecondition(state.status());
    return report;
  }
  report.next_step = state->position.next_step;
  report.durable_steps = DurableSteps(*state);
  report.digest = ToHex(state->position.digest);
  return report;
}

struct ProfileReport {
  std::string name;
  // Empty where the profile is whole.
  std::string error;
  uint64_t bytes = 0;
};

struct StoreReport {
  // Of the file, not of a job or a profile.
  std::vector<std::string> errors;
  std::vector<JobReport> jobs;
  std::vector<ProfileReport> profiles;
};

std::vector<ProfileReport> ReportsOf(const StoredProfiles& stored) {
  std::vector<ProfileReport> profiles;
  for (const auto& [name, bytes] : stored) {
    ProfileReport& report = profiles.emplace_back();
    report.name = name;
    if (bytes.ok()) {
      report.bytes = bytes->size();
    } else {
      report.error = std::string(bytes.status().message());
    }
  }
  return profiles;
}

bool IsDamaged(const StoreReport& report) {
  const auto is_damaged = [](const ProfileReport& each) { return !each.error.empty(); };
  return !report.errors.empty() ||
         std::any_of(report.jobs.begin(), report.jobs.end(),
                     [](const JobReport& job) {
                       return !job.error.empty() && !job.other_version;
                     }) ||
         std::any_of(report.profiles.begin(), report.profiles.end(), is_damaged);
}

bool HasOtherVersion(const StoreReport& report) {
  return std::any_of(report.jobs.begin(), report.jobs.end(),
                     [](const JobReport& job) { return job.other_version; });
}

bool IsWhole(const StoreReport& report) {
  return !IsDamaged(report) && !HasOtherVersion(report);
}

std::string ReportJson(const StoreReport& report) {
  Json json;
  json["ok"] = IsWhole(report);
  json["errors"] = report.errors;
  json["jobs"] = Json::array();
  for (const JobReport& job : report.jobs) {
    Json& row = json["jobs"].emplace_back();
    row["name"] = job.name;
    row["ok"] = job.error.empty();
    row["records"] = job.records;
    row["snapshot_records"] = job.snapshot_records;
    row["bytes"] = job.bytes;
    row["next_step"] = job.next_step;
    row["durable_steps"] = job.durable_steps;
    row["digest"] = job.digest;
    row["other_version"] = job.other_version;
    row["error"] = job.error;
  }
  json["profiles"] = Json::array();
  for (const ProfileReport& profile : report.profiles) {
    Json& row = json["profiles"].emplace_back();
    row["name"] = profile.name;
    row["ok"] = profile.error.empty();
    row["bytes"] = profile.bytes;
    row["error"] = profile.error;
  }
  return JsonText(json);
}

std::string Text(const StoreReport& report) {
  std::string text;
  for (const std::string& error : report.errors) {
    absl::StrAppend(&text, "the file: DAMAGED: ", error, "\n");
  }
  for (const JobReport& job : report.jobs) {
    if (job.error.empty()) {
      absl::StrAppend(&text, job.name, ": whole, ", job.records, " records, ",
                      job.snapshot_records, " of them in the snapshot, ", job.next_step,
                      " steps, ", job.durable_steps, " durable, digest ", job.digest,
                      "\n");
    } else {
      absl::StrAppend(
          &text, job.name,
          job.other_version ? ": OTHER VERSION: " : ": DAMAGED: ", job.error, "\n");
    }
  }
  for (const ProfileReport& profile : report.profiles) {
    absl::StrAppend(&text, "profile ", profile.name,
                    profile.error.empty()
                        ? absl::StrCat(": whole, ", profile.bytes, " bytes\n")
                        : absl::StrCat(": DAMAGED: ", profile.error, "\n"));
  }
  const size_t jobs = report.jobs.size();
  absl::StrAppend(&text, jobs, jobs == 1 ? " job" : " jobs");
  const size_t profiles = report.profiles.size();
  if (profiles > 0) {
    absl::StrAppend(&text, ", ", profiles,
                    profiles == 1 ? " cost profile" : " cost profiles");
  }
  text += '\n';
  return text;
}

absl::StatusOr<StoreReport> ReportOf(SqliteStore& store) {
  StoreReport report;
  const absl::StatusOr<std::vector<std::string>> faults = store.Faults();
  if (faults.ok()) {
    for (const std::string& fault : *faults) report.errors.push_back(OnOneLine(fault));
  } else {
    report.errors.emplace_back(faults.status().message());
  }
  const absl::StatusOr<std::vector<std::string>> names = store.Jobs();
  if (!names.ok()) return names.status();
  report.jobs.reserve(names->size());
  for (const std::string& name : *names) report.jobs.push_back(Verify(store, name));
  const absl::StatusOr<StoredProfiles> profiles = store.Profiles();
  if (profiles.ok()) {
    report.profiles = ReportsOf(*profiles);
  } else {
    report.errors.emplace_back(profiles.status().message());
  }
  return report;
}

}  // namespace

absl::StatusOr<CommandOutput> RunVerifyCommand(const FlagValues& values) {
  FlagReader reader(values);
  const std::string file = reader.Text("FILE", "what the server's --store has");
  if (!reader.status().ok()) return reader.status();
  const std::string path(absl::StripPrefix(file, "sqlite:"));
  const absl::StatusOr<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(path, SqliteStore::Access::kReadOnly);
  if (!store.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", store.status().message()));
  }
  const absl::StatusOr<StoreReport> report = ReportOf(**store);
  if (!report.ok()) return report.status();
  CommandOutput output;
  output.text = IsGiven(values, "--json") ? ReportJson(*report) : Text(*report);
  output.failed = !IsWhole(*report);
  if (output.failed) {
    output.note = absl::StrCat(
        "evenpackctl: ", path,
        IsDamaged(*report) ? " is damaged\n"
                           : " has jobs of a version that this program doesn't know\n");
  }
  return output;
}

}  // namespace evenpack
