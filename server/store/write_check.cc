#include "server/store/write_check.h"

#include <variant>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

using Records = std::optional<uint64_t>;

absl::Status NoJob(const std::string& job) {
  return absl::NotFoundError(absl::StrCat("job: '", job, "' is not in the store"));
}

absl::Status Check(const AppendRecord& write, Records& records) {
  if (write.number == 0 && records.has_value()) {
    return absl::AlreadyExistsError(
        absl::StrCat("job: '", write.job, "' is in the store"));
  }
  if (write.number > 0 && !records.has_value()) return NoJob(write.job);
  const uint64_t expected = records.value_or(0);
  if (write.number != expected) {
    return absl::OutOfRangeError(
        absl::StrCat("record: ", write.number, " of job '", write.job,
                     "' is not accepted; accepted: ", expected));
  }
  records = expected + 1;
  return absl::OkStatus();
}

absl::Status Check(const WriteSnapshot& write, Records& records) {
  if (!records.has_value()) return NoJob(write.job);
  if (write.records != *records) {
    return absl::OutOfRangeError(
        absl::StrCat("snapshot: of ", write.records, " records of job '", write.job,
                     "' is not accepted; accepted: of ", *records));
  }
  return absl::OkStatus();
}

absl::Status Check(const RemoveJob& write, Records& records) {
  if (!records.has_value()) return NoJob(write.job);
  records.reset();
  return absl::OkStatus();
}

template <typename TokensWrite>
absl::Status Check(const TokensWrite& write, const Records& records) {
  return records.has_value() ? absl::OkStatus() : NoJob(write.job);
}

}  // namespace

absl::Status CheckWrites(
    std::span<const StoreWrite> writes,
    absl::FunctionRef<std::optional<uint64_t>(const std::string& job)> records_of) {
  std::map<std::string, Records> jobs;
  for (const StoreWrite& write : writes) {
    absl::Status status = std::visit(
        [&](const auto& held) {
          if constexpr (requires { held.job; }) {
            auto found = jobs.find(held.job);
            if (found == jobs.end()) {
              found = jobs.emplace(held.job, records_of(held.job)).first;
            }
            return Check(held, found->second);
          } else {
            // Of profiles any write follows any other.
            return absl::OkStatus();
          }
        },
        write);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace evenpack
