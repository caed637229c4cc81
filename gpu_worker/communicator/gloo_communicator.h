// Exchanges over a connected Gloo group.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_

#include <chrono>
#include <memory>

#include "gpu_worker/communicator/communicator.h"

namespace gloo {
class Context;
}

namespace evenpack::worker {

// `context` is connected to all ranks of its group; `timeout` is how long they wait for
// each other in an exchange.
//
// Exchanges are carried out by a thread of their own, one after another: rows are
// packed for each peer and sent some at a time. Those that are packed take 16 MiB at
// most, or a row of each tensor for each peer and from it. A connection that breaks, or
// an abort, ends the exchanges of all ranks with UNAVAILABLE; the reason is told on the
// rank that gave it. Ranks that begin different exchanges find out before any row
// travels: those that differ have FAILED_PRECONDITION (exchange_terms.h).
std::unique_ptr<Communicator> MakeGlooCommunicator(
    std::shared_ptr<gloo::Context> context, std::chrono::milliseconds timeout);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_
