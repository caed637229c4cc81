#include "server/app/store_wait.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack {

OpenedStore OpenInTime(const std::function<OpenedStore()>& open,
                       const StoreWait& wait) {
  const Clock::TimePoint end = wait.clock->Now() + wait.patience;
  OpenedStore store = open();
  if (!absl::IsUnavailable(store.status()) || wait.patience.count() == 0) return store;
  Log(LogLevel::kWarning, "the store is away, and is tried again",
      {{"for_seconds", absl::StrCat(wait.patience.count())},
       {"error", std::string(store.status().message())}});
  while (absl::IsUnavailable(store.status()) && wait.clock->Now() < end) {
    wait.sleep(wait.between);
    store = open();
  }
  return store;
}

}  // namespace evenpack
