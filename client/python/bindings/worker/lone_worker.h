// A rank without peers, as Python has it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_LONE_WORKER_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_LONE_WORKER_H_

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "client/python/bindings/status_error.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {

// A group of one rank, which never forms anew. Thread-safe: all threads of the process
// have the same one.
class LoneWorker {
 public:
  // What a pass is done with.
  class Rank {
   public:
    explicit Rank(std::shared_ptr<worker::RankForm> form)
        : form_(std::move(form)),
          executor_(group_.OfRank(0), form_->engine(),
                    {.head_groups = 1, .device = &form_->device()}) {}

    const worker::RankForm& form() const { return *form_; }
    worker::Executor& executor() { return executor_; }

   private:
    const std::shared_ptr<worker::RankForm> form_;
    worker::LocalGroup group_{1};
    worker::Executor executor_;
  };

  explicit LoneWorker(std::shared_ptr<worker::RankForm> form)
      : rank_(std::make_unique<Rank>(std::move(form))) {}
  ~LoneWorker() {
    // A fork has none of its threads, which would be waited for.
    if (getpid() == process_) return;
    const Rank* const left = rank_.release();
    static_cast<void>(left);
  }
  LoneWorker(const LoneWorker&) = delete;
  LoneWorker& operator=(const LoneWorker&) = delete;

  // Throws FAILED_PRECONDITION in a fork.
  std::optional<int> cuda_device() const {
    CheckProcess();
    return rank_->form().cuda_device();
  }

  // pass(rank), which returns a status, once no other thread's runs. In the process of
  // the worker, without the interpreter's lock: that is never waited for under this
  // one's.
  template <typename Pass>
  absl::Status Run(const Pass& pass) {
    MutexLock lock(passes_);
    return pass(*rank_);
  }

 private:
  void CheckProcess() const {
    if (getpid() == process_) return;
    throw StatusError(absl::FailedPreconditionError(
        "the attention is of the process that this one was forked from"));
  }

  const pid_t process_ = getpid();
  Mutex passes_;
  std::unique_ptr<Rank> rank_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_LONE_WORKER_H_
