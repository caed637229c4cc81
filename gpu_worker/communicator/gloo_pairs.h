// Gloo's TCP connections, each of which fails alone.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_PAIRS_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_PAIRS_H_

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include <memory>

namespace evenpack::worker {

// As the device's own contexts, but that no peer ends this process: what Gloo throws in
// its own thread, as for one that was killed while it connected, is an error of whoever
// waits for that peer. `device` is of gloo::transport::tcp.
std::shared_ptr<gloo::transport::Context> MakeGlooContext(
    std::shared_ptr<gloo::transport::Device> device, int rank, int size);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_PAIRS_H_
