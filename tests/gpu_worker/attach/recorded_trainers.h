// Who attached and detached, as a test waits for it.
#ifndef EVENPACK_TESTS_GPU_WORKER_ATTACH_RECORDED_TRAINERS_H_
#define EVENPACK_TESTS_GPU_WORKER_ATTACH_RECORDED_TRAINERS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_worker/attach/attach_listener.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe.
class RecordedTrainers final : public worker::AttachHandler {
 public:
  void OnAttached(const worker::AttachedTrainer& trainer,
                  std::shared_ptr<worker::Arena> arena) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(arena_, nullptr) << "two are attached";
    trainers_.push_back(trainer);
    arena_ = std::move(arena);
  }
  void OnDetached() override {
    MutexLock lock(mutex_);
    EXPECT_NE(arena_, nullptr) << "none is attached";
    arena_.reset();
    changed_.SignalAll();
  }

  void AwaitNone() {
    MutexLock lock(mutex_);
    while (arena_ != nullptr) changed_.Wait(mutex_);
  }
  std::vector<worker::AttachedTrainer> trainers() {
    MutexLock lock(mutex_);
    return trainers_;
  }
  // Of the one that is attached.
  std::shared_ptr<worker::Arena> arena() {
    MutexLock lock(mutex_);
    return arena_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<worker::AttachedTrainer> trainers_ EVENPACK_GUARDED_BY(mutex_);
  std::shared_ptr<worker::Arena> arena_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_ATTACH_RECORDED_TRAINERS_H_
