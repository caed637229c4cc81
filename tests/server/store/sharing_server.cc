#include "tests/server/store/sharing_server.h"

#include <chrono>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/runtime/clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

SharingServer::SharingServer(const std::string& target, const std::string& address,
                             const LeaseTiming& timing)
    : store_(PostgresqlStore::Open(target, timing).value()) {
  EXPECT_THAT(store_->Join(address, lead_), IsOk());
}

absl::Status SharingServer::Commit(const std::vector<StoreWrite>& writes) {
  absl::Status status = store_->Commit(writes);
  if (!status.ok()) return status;
  for (const StoreWrite& write : writes) {
    const auto* const record = std::get_if<AppendRecord>(&write);
    if (record != nullptr && record->number == 0) jobs_.insert(record->job);
    const auto* const removal = std::get_if<RemoveJob>(&write);
    if (removal != nullptr) jobs_.erase(removal->job);
  }
  return status;
}

absl::StatusOr<std::string> SharingServer::HandOver(const std::string& job) {
  absl::StatusOr<std::string> address = store_->HandOver(job);
  if (address.ok()) jobs_.erase(job);
  return address;
}

std::vector<std::string> SharingServer::Work() {
  std::vector<std::string> events = lead_.Take();
  for (const absl::string_view event : events) {
    absl::string_view name = event;
    if (absl::ConsumePrefix(&name, "taken ")) {
      // It may be lost again by now.
      const std::string job(name);
      if (store_->Load(job).ok()) jobs_.insert(job);
    } else if (absl::ConsumePrefix(&name, "lost ")) {
      jobs_.erase(std::string(name));
    } else if (absl::ConsumePrefix(&name, "give ")) {
      const absl::Status status = HandOver(std::string(name)).status();
      EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    }
  }
  return events;
}

bool WorkUntil(std::initializer_list<SharingServer*> servers,
               const std::function<bool()>& is_so) {
  const Clock::TimePoint end = Clock::Steady().Now() + std::chrono::seconds(30);
  while (!is_so()) {
    for (SharingServer* const server : servers) server->Work();
    if (Clock::Steady().Now() >= end) return false;
  }
  return true;
}

}  // namespace evenpack::testing
