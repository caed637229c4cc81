#include "gpu_worker/nccl/nccl_ending.h"

#include <system_error>
#include <thread>
#include <utility>

#include "server/runtime/mutex.h"

namespace evenpack::worker {
namespace {

// Of the thread that ends it, and of who waits for that.
class Ending {
 public:
  Ending(NcclHandle handle, NcclEnd end) : handle_(std::move(handle)), end_(end) {}

  // Once.
  void Run() {
    Call();
    // Before it is told: whoever waited may be the last but for this.
    handle_ = {};
    MutexLock lock(mutex_);
    done_ = true;
    changed_.SignalAll();
  }
  void Await(const NcclTiming& timing, Clock::TimePoint until) {
    MutexLock lock(mutex_);
    while (!done_ && timing.clock->Now() < until) {
      changed_.WaitFor(mutex_, timing.poll_interval);
    }
  }

 private:
  void Call() const {
    const CurrentContext current(*handle_.context);
    const nccl::Functions& functions = handle_.library->functions();
    // Nothing is left to do where it fails.
    if (end_ == NcclEnd::kAbort) {
      functions.ncclCommAbort(handle_.communicator);
    } else {
      functions.ncclCommDestroy(handle_.communicator);
    }
  }

  NcclHandle handle_;
  const NcclEnd end_;
  Mutex mutex_;
  CondVar changed_;
  bool done_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace

void EndNccl(NcclHandle handle, NcclEnd end, const NcclTiming& timing,
             Clock::TimePoint until) {
  const auto ending = std::make_shared<Ending>(std::move(handle), end);
  try {
    std::thread([ending] { ending->Run(); }).detach();
  } catch (const std::system_error&) {
    // There is no thread for it: late is better than never.
    return ending->Run();
  }
  ending->Await(timing, until);
}

}  // namespace evenpack::worker
