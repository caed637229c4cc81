#include "gpu_worker/c_api/evenpack_worker.h"

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/c_api/caught_call.h"
#include "gpu_worker/c_api/open_options.h"
#include "gpu_worker/c_api/sized_struct.h"
#include "gpu_worker/c_api/worker_handle.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

// No sized struct ends in padding. In that a newer caller's next field would leave the
// size as it is, and be passed over here.
static_assert(sizeof(EvenpackWorkerOptions) ==
              offsetof(EvenpackWorkerOptions, reserved) +
                  sizeof(EvenpackWorkerOptions::reserved));
static_assert(sizeof(EvenpackStep) ==
              offsetof(EvenpackStep, digest) + sizeof(EvenpackStep::digest));
static_assert(sizeof(EvenpackMicroBatch) == offsetof(EvenpackMicroBatch, token_ids) +
                                                sizeof(EvenpackMicroBatch::token_ids));
static_assert(sizeof(EvenpackTensors) == offsetof(EvenpackTensors, value_gradient) +
                                             sizeof(EvenpackTensors::value_gradient));

// Of calls without a worker.
std::string& ErrorOfThread() {
  static thread_local std::string error;
  return error;
}

int CodeOf(const absl::Status& status, std::string& error) {
  if (!status.ok()) error = std::string(status.message());
  return static_cast<int>(status.code());
}

bool IsOfAnotherProcess(const EvenpackWorker& worker) {
  return worker.process != getpid();
}

absl::Status RefusedInAFork(const EvenpackWorker& worker) {
  return absl::FailedPreconditionError(
      absl::StrCat("worker: that of process ", worker.process, " in its fork ",
                   getpid(), " is not accepted; accepted: one that was opened here"));
}

// Does it, if there is a worker.
template <typename Call>
int With(EvenpackWorker* worker, Call call) {
  if (worker == nullptr) {
    return CodeOf(InvalidField("worker", "NULL", "what evenpack_worker_open gave"),
                  ErrorOfThread());
  }
  if (IsOfAnotherProcess(*worker)) {
    return CodeOf(RefusedInAFork(*worker), ErrorOfThread());
  }
  return CodeOf(Caught([worker, &call] { return call(*worker); }), worker->error);
}

absl::Status Open(const EvenpackWorkerOptions* options, EvenpackWorker** worker) {
  if (worker == nullptr) return InvalidField("worker", "NULL", "where to put it");
  *worker = nullptr;
  absl::StatusOr<OpenOptions> read = ReadOptions(options);
  if (!read.ok()) return read.status();
  absl::StatusOr<client::Client> client = client::Client::Connect(read->client);
  if (!client.ok()) return client.status();
  absl::StatusOr<std::unique_ptr<RankForm>> form = OpenForm(read->form);
  if (!form.ok()) return form.status();
  absl::StatusOr<std::unique_ptr<CheckedRank>> rank =
      CheckedRank::Open(*client, read->worker, *std::move(form));
  if (!rank.ok()) return rank.status();
  *worker = new EvenpackWorker{.rank = *std::move(rank)};
  return absl::OkStatus();
}

absl::Status NextStep(EvenpackWorker& worker, EvenpackStep* step) {
  if (absl::Status status = CheckOutput("step", step); !status.ok()) return status;
  const absl::StatusOr<const PreparedStep*> next = worker.rank->NextStep();
  if (!next.ok()) return next.status();
  worker.columns.clear();
  if (*next == nullptr) {
    step->drained = 1;
  } else {
    ShowStep((*next)->step, *step);
  }
  return absl::OkStatus();
}

absl::Status MicroBatch(EvenpackWorker& worker, uint32_t micro_batch,
                        EvenpackMicroBatch* result) {
  if (absl::Status status = CheckOutput("result", result); !status.ok()) return status;
  const absl::StatusOr<const client::MicroBatchView*> view =
      worker.rank->MicroBatch(micro_batch);
  if (!view.ok()) return view.status();
  auto columns = worker.columns.find(micro_batch);
  if (columns == worker.columns.end()) {
    columns =
        worker.columns.emplace(micro_batch, ColumnsOf(**view, worker.rank->cp_rank()))
            .first;
  }
  ShowMicroBatch(**view, columns->second, *result);
  return absl::OkStatus();
}

using RankPass = absl::Status (CheckedRank::*)(uint32_t, const PassTensors&, void*);

int Pass(EvenpackWorker* worker, uint32_t micro_batch, const EvenpackTensors* given,
         void* stream, RankPass pass) {
  return With(worker, [micro_batch, given, stream, pass](EvenpackWorker& own) {
    absl::Status status = CheckInput("tensors", given);
    if (!status.ok()) return status;
    const PassTensors tensors = {
        {given->query, given->key, given->value},
        {given->output, given->log_sum_exp},
        given->output_gradient,
        {given->query_gradient, given->key_gradient, given->value_gradient}};
    return ((*own.rank).*pass)(micro_batch, tensors, stream);
  });
}

}  // namespace

extern "C" {

int evenpack_worker_open(const EvenpackWorkerOptions* options,
                         EvenpackWorker** worker) {
  return CodeOf(Caught([options, worker] { return Open(options, worker); }),
                ErrorOfThread());
}

const char* evenpack_worker_error(const EvenpackWorker* worker) {
  const bool is_of_thread = worker == nullptr || IsOfAnotherProcess(*worker);
  return is_of_thread ? ErrorOfThread().c_str() : worker->error.c_str();
}

uint32_t evenpack_worker_cp_size(const EvenpackWorker* worker) {
  return worker == nullptr ? 0 : worker->rank->cp_size();
}

int evenpack_worker_next_step(EvenpackWorker* worker, EvenpackStep* step) {
  return With(worker, [step](EvenpackWorker& own) { return NextStep(own, step); });
}

int evenpack_worker_micro_batch(EvenpackWorker* worker, uint32_t micro_batch,
                                EvenpackMicroBatch* result) {
  return With(worker, [micro_batch, result](EvenpackWorker& own) {
    return MicroBatch(own, micro_batch, result);
  });
}

int evenpack_worker_begin_step(EvenpackWorker* worker) {
  return With(worker, [](EvenpackWorker& own) { return own.rank->BeginStep(); });
}

int evenpack_worker_forward(EvenpackWorker* worker, uint32_t micro_batch,
                            const EvenpackTensors* tensors, void* stream) {
  return Pass(worker, micro_batch, tensors, stream, &CheckedRank::Forward);
}

int evenpack_worker_backward(EvenpackWorker* worker, uint32_t micro_batch,
                             const EvenpackTensors* tensors, void* stream) {
  return Pass(worker, micro_batch, tensors, stream, &CheckedRank::Backward);
}

int evenpack_worker_end_step(EvenpackWorker* worker) {
  return With(worker, [](EvenpackWorker& own) { return own.rank->EndStep(); });
}

int evenpack_worker_abandon(EvenpackWorker* worker, const char* why) {
  return With(worker, [why](EvenpackWorker& own) {
    return own.rank->Abandon(why == nullptr ? "it was abandoned" : why);
  });
}

int evenpack_worker_acknowledge_durable(EvenpackWorker* worker, uint64_t step) {
  return With(worker, [step](EvenpackWorker& own) {
    return own.rank->AcknowledgeDurable(step);
  });
}

int evenpack_worker_cancel(EvenpackWorker* worker) {
  return With(worker, [](EvenpackWorker& own) {
    own.rank->Cancel();
    return absl::OkStatus();
  });
}

int evenpack_worker_close(EvenpackWorker* worker) {
  return With(worker, [](EvenpackWorker& own) { return own.rank->Close(); });
}

void evenpack_worker_destroy(EvenpackWorker* worker) {
  // It would wait for threads that a fork doesn't have.
  if (worker == nullptr || IsOfAnotherProcess(*worker)) return;
  delete worker;
}

}  // extern "C"
}  // namespace evenpack::worker
