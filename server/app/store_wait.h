// A store that comes up after its server.
#ifndef EVENPACK_SERVER_APP_STORE_WAIT_H_
#define EVENPACK_SERVER_APP_STORE_WAIT_H_

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/runtime/clock.h"
#include "server/store/state_store.h"

namespace evenpack {

using OpenedStore = absl::StatusOr<std::unique_ptr<StateStore>>;

struct StoreWait {
  // 0: it is tried once.
  std::chrono::seconds patience{0};
  std::chrono::milliseconds between{1000};
  const Clock* clock = &Clock::Steady();
  // Returns after that time.
  std::function<void(std::chrono::milliseconds)> sleep = {};
};

// Opens it again and again where it is UNAVAILABLE, which is logged once, until it is
// there or the patience is over; then as it was last.
OpenedStore OpenInTime(const std::function<OpenedStore()>& open, const StoreWait& wait);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_STORE_WAIT_H_
