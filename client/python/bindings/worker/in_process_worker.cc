#include "client/python/bindings/worker/in_process_worker.h"

#include <utility>

namespace evenpack::python {

InProcessWorker::InProcessWorker(std::shared_ptr<worker::RankForm> form,
                                 std::unique_ptr<client::GroupMember> member,
                                 worker::GroupRendezvous::OpenEndpoint open,
                                 const InProcessOptions& options)
    : form_(std::move(form)),
      group_(std::move(member), std::move(open), options.patience),
      executor_(group_, form_->engine(),
                {.head_groups = options.head_groups,
                 .device = &form_->device(),
                 .least_group_bytes = form_->least_group_bytes()},
                [this](uint64_t, const worker::StepTimes& times) { times_ = times; }) {}

}  // namespace evenpack::python
