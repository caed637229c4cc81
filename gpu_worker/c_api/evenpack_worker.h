/* One rank of a context-parallel group, within its trainer's process: what
 * gpu_worker/rank_worker/rank_worker.h is to C++, for C99 and whatever calls C.
 *
 *   struct EvenpackWorker* worker;
 *   if (evenpack_worker_open(&options, &worker) != EVENPACK_OK) ...
 *   for (;;) {
 *     evenpack_worker_next_step(worker, &step);
 *     if (step.drained) break;
 *     do {
 *       code = evenpack_worker_begin_step(worker);
 *       ... evenpack_worker_forward and evenpack_worker_backward ...
 *       if (code == EVENPACK_OK) code = evenpack_worker_end_step(worker);
 *     } while (code == EVENPACK_ABORTED);
 *   }
 *   evenpack_worker_close(worker);
 *   evenpack_worker_destroy(worker);
 *
 * docs/worker.md has a whole program.
 *
 * Structs that the caller passes begin with their size, sizeof(struct ...), so that
 * they can grow: what a caller doesn't know of is 0, which is the default, and a field
 * that the library doesn't know of is refused unless it is 0. None has more than 4,096
 * bytes: larger sizes are refused.
 *
 * Functions return an EvenpackCode. A worker is for one thread at a time, but for
 * evenpack_worker_cancel, and for the process that opened it: in a fork of that one
 * they return FAILED_PRECONDITION.
 */
#ifndef EVENPACK_GPU_WORKER_C_API_EVENPACK_WORKER_H_
#define EVENPACK_GPU_WORKER_C_API_EVENPACK_WORKER_H_

/* NOLINTBEGIN(modernize-*, readability-identifier-naming): it is C. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Those of google.rpc.Code. */
enum EvenpackCode {
  EVENPACK_OK = 0,
  EVENPACK_CANCELLED = 1,
  EVENPACK_UNKNOWN = 2,
  EVENPACK_INVALID_ARGUMENT = 3,
  EVENPACK_DEADLINE_EXCEEDED = 4,
  EVENPACK_NOT_FOUND = 5,
  EVENPACK_ALREADY_EXISTS = 6,
  EVENPACK_PERMISSION_DENIED = 7,
  /* Also where the system has no memory or no threads left. */
  EVENPACK_RESOURCE_EXHAUSTED = 8,
  EVENPACK_FAILED_PRECONDITION = 9,
  /* Of begin_step, a pass or end_step: the step is to be done again by all ranks, from
   * begin_step on, and what it has computed so far is to be dropped. Of next_step and
   * acknowledge_durable: see there. */
  EVENPACK_ABORTED = 10,
  EVENPACK_OUT_OF_RANGE = 11,
  EVENPACK_UNIMPLEMENTED = 12,
  EVENPACK_INTERNAL = 13,
  EVENPACK_UNAVAILABLE = 14,
  EVENPACK_DATA_LOSS = 15,
  EVENPACK_UNAUTHENTICATED = 16
};

/* What tensors hold. A CUDA device computes with the latter two. */
enum EvenpackElementType {
  EVENPACK_FLOAT32 = 1,
  EVENPACK_BFLOAT16 = 2,
  EVENPACK_FLOAT16 = 3
};

struct EvenpackWorker;

struct EvenpackWorkerOptions {
  size_t struct_size;

  /* The packing server: "HOST:PORT", or several with commas between them. */
  const char* address;
  const char* job;
  uint32_t dp_rank;
  uint32_t cp_rank;
  /* The first step wanted; negative: the first that the DP rank has not made durable.
   */
  int64_t from_step;
  /* 16 bytes: the digest of the step before, as a checkpoint has it, which the server's
   * history must have too. Needs from_step. NULL: not compared. */
  const unsigned char* last_digest;
  /* Names this process, and no other before or after it: 1 to 256 bytes. NULL: a name
   * is made up. */
  const char* member;
  /* Not 0: this rank sends the durable marks of its DP rank, as one of them does. */
  int32_t sends_durable;

  /* Attention; an EvenpackElementType. */
  uint32_t element_type;
  /* 1 to 1,024, a multiple of kv_heads. */
  uint32_t query_heads;
  uint32_t kv_heads;
  /* 64, 128, 192 or 256. */
  uint32_t head_size;
  /* What scores are multiplied by; 0: 1 / sqrt(head_size). */
  float scale;
  /* Keys that a query sees, its own the last; 0: all up to its own. */
  uint32_t sliding_window;
  /* KV heads are exchanged in as many groups, one while the last is computed with; at
   * most 1,024. 0: 4. The same on all ranks. */
  uint32_t head_groups;

  /* The CUDA device, among those that the process sees; -1: the processor. */
  int32_t device;
  /* On the processor, that of the caller among them, at most 1,024. 0: 1. */
  uint32_t threads;
  /* Of the device, that may be in use at once beside what the trainer has. 0: 16 GiB.
   */
  uint64_t memory_bytes;

  /* On the processor: the address that peers reach this rank at, one of this machine,
   * as begin_step finds out. NULL: "127.0.0.1". */
  const char* host;
  /* How long ranks wait for each other, each to connect, and in an exchange. 0: a
   * minute, and ten. */
  uint32_t connect_timeout_ms;
  uint32_t exchange_timeout_ms;
  /* How long begin_step and end_step wait until all ranks are connected and take part
   * in an exchange, at first and after one was lost. 0: half an hour. */
  uint32_t patience_ms;

  /* How the server is reached, and who this is to it, as client/cpp/security.h has
   * them: TLS, which a ca_file turns on too, and paths of files. NULL: none. */
  int32_t tls;
  const char* ca_file;
  const char* certificate_file;
  const char* key_file;
  const char* server_name;
  const char* token_file;

  /* How long a server that doesn't answer is tried, in open, and after it was lost from
   * when no step is left. 0: ten minutes. */
  uint32_t server_timeout_ms;
  /* 0, or it is refused: in padding, what a newer caller sets would be passed over. */
  uint32_t reserved;
};

struct EvenpackStep {
  size_t struct_size;
  /* 1: the job is drained, there is no further step, and what follows is 0. */
  int32_t drained;
  /* Of this DP rank. */
  uint32_t micro_batches;
  uint64_t index;
  /* The job's shape epoch in which it was decided. */
  uint64_t epoch;
  /* Of all ranks' micro-batches: tokens that count in the loss. */
  uint64_t loss_tokens;
  /* What a checkpoint keeps, to go on from as last_digest. */
  unsigned char digest[16];
};

/* A document, or a piece of one. */
struct EvenpackDocument {
  /* Position in its stream, and what the producer calls it. */
  uint64_t sequence;
  uint64_t id;
  /* Index into the job's streams. */
  uint32_t stream;
  /* The producer's number for where it comes from. */
  uint32_t source;
  /* Tokens: the first of this piece, how many, and those of the whole document. */
  uint32_t offset;
  uint32_t length;
  uint32_t document_length;
  /* Tokens of the piece that count in the loss. */
  uint32_t loss_tokens;
};

/* Tokens begin to end - 1 of a document (or piece), of which the rank has the queries.
 */
struct EvenpackSlice {
  /* Index into the micro-batch's documents. */
  uint32_t document;
  uint32_t begin;
  uint32_t end;
};

/* What pointers point at stays until the next evenpack_worker_next_step. */
struct EvenpackMicroBatch {
  size_t struct_size;
  /* Within the step, all DP ranks' together. */
  uint32_t index;
  /* Of this rank: tokens, in the order of its slices, and rows of padding behind them.
   * Its tensors have as many rows as both together. */
  uint64_t tokens;
  uint64_t padding;
  uint64_t documents;
  const struct EvenpackDocument* document;
  uint64_t slices;
  const struct EvenpackSlice* slice;
  /* Of the rank's tokens, where the job's payload travels by value; else NULL. */
  const uint32_t* token_ids;
};

/* THD: a row for each token, in it the heads, in each head its elements, without gaps.
 * Rows of padding are not read, and set to 0 where they are written. On the processor
 * at multiples of an element's bytes; on CUDA in the device's memory, at multiples of
 * 16 bytes; log_sum_exp at multiples of 4 on both. NULL is accepted where the rank has
 * no row. */
struct EvenpackTensors {
  size_t struct_size;
  const void* query;
  const void* key;
  const void* value;
  /* Forward writes both; backward reads what forward wrote. log_sum_exp: a number for
   * each row and query head, the natural log of the sum of exponentials of its scores.
   */
  void* output;
  float* log_sum_exp;
  /* Of backward alone. */
  const void* output_gradient;
  void* query_gradient;
  void* key_gradient;
  void* value_gradient;
};

/* Joins a job's rank. Blocks until the server has said what the job is. `*worker` is
 * NULL on failure, whose message evenpack_worker_error(NULL) has. On the processor it
 * sets OpenBLAS to one thread in the whole process, where the trainer uses the same
 * library too, and leaves it so.
 * INVALID_ARGUMENT naming the field; FAILED_PRECONDITION: the device, cuDNN or NCCL
 * isn't there; UNAVAILABLE: no server has answered within server_timeout_ms; errors of
 * the server. */
int evenpack_worker_open(const struct EvenpackWorkerOptions* options,
                         struct EvenpackWorker** worker);

/* The message of the worker's last error, or, with NULL or in a fork, that of this
 * thread's last call that failed without a worker of its process; "" where there was
 * none. It stays until the next call. */
const char* evenpack_worker_error(const struct EvenpackWorker* worker);

/* Ranks of the group; 0 without a worker. */
uint32_t evenpack_worker_cp_size(const struct EvenpackWorker* worker);

/* Blocks until there is a step, or the job is drained. Errors are final.
 * ABORTED: the job was reconfigured or rewound, or a newer subscription has this rank;
 * it comes at once, also before steps that were fetched. After the former the trainer
 * opens a worker in the job's new shape, and goes back to a checkpoint where steps that
 * it was given have been withdrawn.
 * FAILED_PRECONDITION: a step has begun, and neither ended nor been abandoned, which is
 * not final. */
int evenpack_worker_next_step(struct EvenpackWorker* worker, struct EvenpackStep* step);

/* Of the last step: micro_batch is 0 to its micro_batches - 1. */
int evenpack_worker_micro_batch(struct EvenpackWorker* worker, uint32_t micro_batch,
                                struct EvenpackMicroBatch* result);

/* Begins the last step. Blocks until all ranks are connected and at this step.
 * FAILED_PRECONDITION: there is no step, it has begun or ended, a peer is at another,
 * or another process has taken the rank. DEADLINE_EXCEEDED: peers were not there in
 * time; one may begin again. UNAVAILABLE, from then on each time: the options' host is
 * no address of this machine, or the server was lost for as long as it is tried. */
int evenpack_worker_begin_step(struct EvenpackWorker* worker);

/* A layer's passes over a micro-batch. All ranks do the same ones in the same order, of
 * the same element type, heads and head_groups.
 *
 * stream: on CUDA the trainer's (a CUstream or cudaStream_t; NULL: the default one):
 * the pass comes after what that has been given, and what it is given from then on
 * comes after the pass. Returns when the device has been given the work. On the
 * processor it is ignored, and the pass is done.
 *
 * Where the call is refused, nothing was done, and peers wait for this rank's pass:
 * INVALID_ARGUMENT; FAILED_PRECONDITION: no step has begun, or the stream is being
 * captured for a CUDA graph.
 *
 * After other errors the step is over, as after ABORTED, which is what peers get; so it
 * is after FAILED_PRECONDITION on the processor where a peer's pass is another than
 * this rank's, which has the same code there, and after INVALID_ARGUMENT where the
 * device has no kernel for the shape. evenpack_worker_abandon is refused then. */
int evenpack_worker_forward(struct EvenpackWorker* worker, uint32_t micro_batch,
                            const struct EvenpackTensors* tensors, void* stream);
int evenpack_worker_backward(struct EvenpackWorker* worker, uint32_t micro_batch,
                             const struct EvenpackTensors* tensors, void* stream);

/* Blocks until all ranks have executed the step. Only after EVENPACK_OK, with which it
 * is not done again, may weights change. */
int evenpack_worker_end_step(struct EvenpackWorker* worker);

/* This rank can't do its part of the step that has begun: peers have ABORTED, rather
 * than wait for it. why: NULL for nothing in particular. FAILED_PRECONDITION: no step
 * has begun, or it is over: nobody waits for this rank. */
int evenpack_worker_abandon(struct EvenpackWorker* worker, const char* why);

/* The trainer's checkpoint after `step` is committed, and those before. Returns at
 * once. INVALID_ARGUMENT: the step has not ended here. FAILED_PRECONDITION:
 * sends_durable isn't set. ABORTED: as of next_step, which has the same from then on.
 */
int evenpack_worker_acknowledge_durable(struct EvenpackWorker* worker, uint64_t step);

/* From any thread: what blocks returns CANCELLED or another error. From then on
 * next_step, begin_step, passes, end_step, acknowledge_durable and close return
 * CANCELLED. */
int evenpack_worker_cancel(struct EvenpackWorker* worker);

/* Ends in order: blocks until the server has confirmed every durable mark, or returns
 * why it can't. The worker can then only be destroyed, whatever was returned:
 * other calls, this one too, return FAILED_PRECONDITION. */
int evenpack_worker_close(struct EvenpackWorker* worker);

/* Leaves the group, and frees the worker, of which no other call may be under way. NULL
 * is accepted. In a fork of the process that opened it nothing is done: what the worker
 * has goes with the fork. */
void evenpack_worker_destroy(struct EvenpackWorker* worker);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(modernize-*, readability-identifier-naming) */

#endif /* EVENPACK_GPU_WORKER_C_API_EVENPACK_WORKER_H_ */
