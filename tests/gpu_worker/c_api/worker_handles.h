// Ranks behind the C API's handles, of a job without a server.
#ifndef EVENPACK_TESTS_GPU_WORKER_C_API_WORKER_HANDLES_H_
#define EVENPACK_TESTS_GPU_WORKER_C_API_WORKER_HANDLES_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/c_api/worker_handle.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"

namespace evenpack::testing {

struct DestroyWorker {
  void operator()(EvenpackWorker* worker) const { evenpack_worker_destroy(worker); }
};
using WorkerHandle = std::unique_ptr<EvenpackWorker, DestroyWorker>;

inline worker::AttentionShape SmallShape(worker::ElementType type) {
  worker::AttentionShape shape;
  shape.type = type;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

// A rank of PretendedJob's groups, which have two.
inline WorkerHandle OpenRank(PretendedJob& job, uint32_t cp_rank,
                             std::unique_ptr<worker::RankForm> form,
                             worker::ElementType type = worker::ElementType::kFloat32) {
  worker::RankWorkerOptions options;
  options.steps.job = "job";
  options.steps.cp_rank = cp_rank;
  options.member = absl::StrCat("process", cp_rank);
  options.shape = SmallShape(type);
  return WorkerHandle(new EvenpackWorker{
      .rank =
          worker::CheckedRank::Open(job.client(), options, std::move(form)).value()});
}

inline EvenpackStep NextStep(EvenpackWorker& worker) {
  EvenpackStep step{};
  step.struct_size = sizeof(step);
  EXPECT_EQ(evenpack_worker_next_step(&worker, &step), EVENPACK_OK)
      << evenpack_worker_error(&worker);
  return step;
}

inline worker::MadeMicroBatch MadeOf(const EvenpackWorker& worker, uint32_t i,
                                     worker::ElementType type) {
  std::vector<uint32_t> lengths;
  for (const Document& document : worker.rank->MicroBatch(i).value()->documents()) {
    lengths.push_back(document.length);
  }
  return {SmallShape(type), lengths, i};
}

// Runs body(rank) for both, each in a thread.
template <typename Body>
void InBoth(const Body& body) {
  std::thread other([&body] { body(uint32_t{1}); });
  body(uint32_t{0});
  other.join();
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_C_API_WORKER_HANDLES_H_
