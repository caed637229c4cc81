// A rank of a context-parallel group within this process, whoever tells it of steps.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_IN_PROCESS_WORKER_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_IN_PROCESS_WORKER_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "client/cpp/group_member.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "gpu_worker/steps/group_executor.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {

struct InProcessOptions {
  // As ExecutorOptions has it.
  uint32_t head_groups = 4;
  // How long it waits for all ranks to be connected and take part in an exchange.
  std::chrono::nanoseconds patience = worker::kDefaultPatience;
};

// Not thread-safe, but for Cancel(), form() and calls().
class InProcessWorker {
 public:
  InProcessWorker(std::shared_ptr<worker::RankForm> form,
                  std::unique_ptr<client::GroupMember> member,
                  worker::GroupRendezvous::OpenEndpoint open,
                  const InProcessOptions& options);

  const worker::RankForm& form() const { return *form_; }
  worker::GroupExecutor& executor() { return executor_; }
  // Of the last step that was executed.
  const worker::StepTimes& times() const { return times_; }
  // For who has several threads: its calls are one at a time.
  Mutex& calls() { return calls_; }
  // Has what blocks return an error, now and later.
  void Cancel() { group_.Cancel(); }

 private:
  const std::shared_ptr<worker::RankForm> form_;
  worker::GroupRendezvous group_;
  worker::StepTimes times_;
  worker::GroupExecutor executor_;
  Mutex calls_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_IN_PROCESS_WORKER_H_
