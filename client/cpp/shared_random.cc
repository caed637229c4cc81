#include "client/cpp/shared_random.h"

#include <memory>
#include <random>
#include <utility>

#include "server/runtime/mutex.h"

namespace evenpack::client {
namespace {

class Source {
 public:
  explicit Source(std::function<double()> random) : random_(std::move(random)) {}

  double Draw() {
    MutexLock lock(mutex_);
    return random_();
  }

 private:
  Mutex mutex_;
  const std::function<double()> random_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace

std::function<double()> SharedRandom(std::function<double()> random) {
  if (!random) {
    random = [generator = std::mt19937_64(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>()(generator);
    };
  }
  return
      [source = std::make_shared<Source>(std::move(random))] { return source->Draw(); };
}

}  // namespace evenpack::client
