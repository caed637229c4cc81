// What a client has for each server that it talks to: a channel, or a stub.
#ifndef EVENPACK_CLIENT_CPP_PER_SERVER_H_
#define EVENPACK_CLIENT_CPP_PER_SERVER_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/mutex.h"

namespace evenpack::client {

// Those of the given servers are made at once and stay; of others, which servers told
// of, as many as were used last. Thread-safe.
template <typename Thing>
class PerServer {
 public:
  using Make = std::function<std::shared_ptr<Thing>(const std::string& address)>;

  static constexpr size_t kMostOthers = 32;

  PerServer(const std::vector<std::string>& given, Make make) : make_(std::move(make)) {
    MutexLock lock(mutex_);
    for (const std::string& address : given) {
      given_.emplace_back(address, make_(address));
    }
  }

  // Whoever has it may use it also when it isn't kept here any more.
  std::shared_ptr<Thing> At(const std::string& address) {
    // Given back under no lock: letting go of a channel may wait for others.
    std::shared_ptr<Thing> dropped;
    MutexLock lock(mutex_);
    for (const auto& [of, thing] : given_) {
      if (of == address) return thing;
    }
    for (auto at = others_.begin(); at != others_.end(); ++at) {
      if (at->first != address) continue;
      others_.splice(others_.begin(), others_, at);
      return at->second;
    }
    others_.emplace_front(address, make_(address));
    if (others_.size() > kMostOthers) {
      dropped = std::move(others_.back().second);
      others_.pop_back();
    }
    return others_.front().second;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<Thing>>;

  const Make make_;
  Mutex mutex_;
  std::vector<Entry> given_ EVENPACK_GUARDED_BY(mutex_);
  // The one used last is first.
  std::list<Entry> others_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_PER_SERVER_H_
