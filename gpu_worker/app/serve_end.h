// What ends a sidecar.
#ifndef EVENPACK_GPU_WORKER_APP_SERVE_END_H_
#define EVENPACK_GPU_WORKER_APP_SERVE_END_H_

#include <chrono>

#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {

// Returns once the signal has come (EndSignal). Looks so often whether the form can
// still compute; where it can't, the process ends with status 1, for its supervisor to
// start another: nothing that this one asks of the device would be done.
void AwaitEnd(const SidecarForm& form, std::chrono::milliseconds between);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_SERVE_END_H_
