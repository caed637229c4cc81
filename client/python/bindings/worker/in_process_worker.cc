#include "client/python/bindings/worker/in_process_worker.h"

#include <utility>

namespace evenpack::python {

InProcessWorker::InProcessWorker(std::unique_ptr<client::GroupMember> member,
                                 worker::GroupRendezvous::OpenEndpoint open,
                                 const InProcessOptions& options)
    : engine_(options.threads),
      group_(std::move(member), std::move(open), options.patience),
      executor_(group_, engine_, {.head_groups = options.head_groups},
                [this](uint64_t, const worker::StepTimes& times) { times_ = times; }) {}

}  // namespace evenpack::python
