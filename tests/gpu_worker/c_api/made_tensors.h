/* Made-up tensors of a micro-batch, in place of a model's, and what attention makes of
 * them by its definition. Whoever has a seed has all ranks' tensors. */
#ifndef EVENPACK_TESTS_GPU_WORKER_C_API_MADE_TENSORS_H_
#define EVENPACK_TESTS_GPU_WORKER_C_API_MADE_TENSORS_H_

#include <stdint.h>

#include "gpu_worker/c_api/evenpack_worker.h"

enum { MADE_QUERY_HEADS = 4, MADE_KV_HEADS = 2, MADE_HEAD_SIZE = 64 };

/* Of this rank, float32, filled; results and padding are not numbers. The caller's, to
 * made_free. */
struct EvenpackTensors made_tensors(const struct EvenpackMicroBatch* micro_batch,
                                    uint64_t seed);
void made_free(struct EvenpackTensors* tensors);

/* The largest difference of a result from the definition in double precision, over the
 * largest of its numbers, or 0.1 where that is less; infinite where one is no number,
 * or padding not 0. */
double made_error(const struct EvenpackMicroBatch* micro_batch, uint64_t seed,
                  const struct EvenpackTensors* tensors);

#endif /* EVENPACK_TESTS_GPU_WORKER_C_API_MADE_TENSORS_H_ */
