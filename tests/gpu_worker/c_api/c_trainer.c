/* c_trainer HOST:PORT JOB DP_RANK CP_RANK MEMBER: executes the attention of a rank's
 * steps, forward and backward, to the last of the job, on the processor, and says of
 * each step how often it was begun, and how far its results are from the definition. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu_worker/c_api/evenpack_worker.h"
#include "tests/gpu_worker/c_api/made_tensors.h"

/* The other ranks make up the same tensors. */
static int execute_micro_batch(struct EvenpackWorker* worker, uint32_t i, uint64_t seed,
                               double* error) {
  struct EvenpackMicroBatch micro_batch = {.struct_size = sizeof micro_batch};
  int code = evenpack_worker_micro_batch(worker, i, &micro_batch);
  if (code != EVENPACK_OK) return code;
  /* Rows of micro_batch.slice, in order, then those of padding. */
  struct EvenpackTensors tensors = made_tensors(&micro_batch, seed);
  code = evenpack_worker_forward(worker, i, &tensors, NULL);
  if (code == EVENPACK_OK) code = evenpack_worker_backward(worker, i, &tensors, NULL);
  if (code == EVENPACK_OK) {
    const double own = made_error(&micro_batch, seed, &tensors);
    if (own > *error) *error = own;
  }
  made_free(&tensors);
  return code;
}

static int execute_step(struct EvenpackWorker* worker,
                        const struct EvenpackStep* step) {
  double error = 0;
  int attempts = 0;
  int code = EVENPACK_OK;
  do {
    ++attempts;
    code = evenpack_worker_begin_step(worker);
    for (uint32_t i = 0; code == EVENPACK_OK && i < step->micro_batches; ++i) {
      code = execute_micro_batch(worker, i, step->index * 100 + i, &error);
    }
    if (code == EVENPACK_OK) code = evenpack_worker_end_step(worker);
  } while (code == EVENPACK_ABORTED); /* a peer was lost: once more */
  if (code != EVENPACK_OK) return code;
  printf("{\"step\": %llu, \"attempts\": %d, \"error\": %g}\n",
         (unsigned long long)step->index, attempts, error);
  fflush(stdout);
  return EVENPACK_OK;
}

static int execute_all(struct EvenpackWorker* worker, int sends_durable) {
  for (;;) {
    struct EvenpackStep step = {.struct_size = sizeof step};
    int code = evenpack_worker_next_step(worker, &step);
    if (code != EVENPACK_OK) return code;
    if (step.drained) return evenpack_worker_close(worker);
    code = execute_step(worker, &step);
    /* A trainer does so when its checkpoint is written. */
    if (code == EVENPACK_OK && sends_durable) {
      code = evenpack_worker_acknowledge_durable(worker, step.index);
    }
    if (code != EVENPACK_OK) return code;
  }
}

int main(int argc, char** argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: c_trainer HOST:PORT JOB DP_RANK CP_RANK MEMBER\n");
    return 2;
  }
  struct EvenpackWorkerOptions options = {.struct_size = sizeof options};
  options.address = argv[1];
  options.job = argv[2];
  options.dp_rank = (uint32_t)strtoul(argv[3], NULL, 10);
  options.cp_rank = (uint32_t)strtoul(argv[4], NULL, 10);
  options.member = argv[5];
  options.from_step = -1;
  options.sends_durable = options.cp_rank == 0;
  options.element_type = EVENPACK_FLOAT32;
  options.query_heads = MADE_QUERY_HEADS;
  options.kv_heads = MADE_KV_HEADS;
  options.head_size = MADE_HEAD_SIZE;
  options.device = -1; /* 0 and up: of CUDA, with tensors in its memory */
  struct EvenpackWorker* worker = NULL;
  int code = evenpack_worker_open(&options, &worker);
  if (code == EVENPACK_OK) code = execute_all(worker, options.sends_durable);
  if (code != EVENPACK_OK) {
    fprintf(stderr, "code %d: %s\n", code, evenpack_worker_error(worker));
  }
  evenpack_worker_destroy(worker);
  return code == EVENPACK_OK ? 0 : 1;
}
