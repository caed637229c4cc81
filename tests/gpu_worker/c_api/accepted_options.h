// Options of a worker with which nothing is wrong.
#ifndef EVENPACK_TESTS_GPU_WORKER_C_API_ACCEPTED_OPTIONS_H_
#define EVENPACK_TESTS_GPU_WORKER_C_API_ACCEPTED_OPTIONS_H_

#include "gpu_worker/c_api/evenpack_worker.h"

namespace evenpack::worker {

inline EvenpackWorkerOptions AcceptedOptions() {
  EvenpackWorkerOptions options{};
  options.struct_size = sizeof(options);
  options.address = "packer:7654";
  options.job = "run-7";
  options.element_type = EVENPACK_BFLOAT16;
  options.query_heads = 32;
  options.kv_heads = 8;
  options.head_size = 128;
  return options;
}

}  // namespace evenpack::worker

#endif  // EVENPACK_TESTS_GPU_WORKER_C_API_ACCEPTED_OPTIONS_H_
