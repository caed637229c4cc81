#include "gpu_worker/c_api/evenpack_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu_worker/c_api/accepted_options.h"
#include "tests/gpu_worker/c_api/worker_handles.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rank_form/form_on_doubles.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::FakeNcclTest;
using evenpack::testing::FormOnDoubles;
using evenpack::testing::InBoth;
using evenpack::testing::MadeOf;
using evenpack::testing::NextStep;
using evenpack::testing::OpenRank;
using evenpack::testing::PretendedJob;
using evenpack::testing::StreamGate;
using evenpack::testing::WorkerHandle;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kSteps = 4;

EvenpackTensors TensorsOf(RankTensors& tensors) {
  return {.struct_size = sizeof(EvenpackTensors),
          .query = tensors.query.data(),
          .key = tensors.key.data(),
          .value = tensors.value.data(),
          .output = tensors.output.data(),
          .log_sum_exp = tensors.log_sum_exp.data(),
          .output_gradient = tensors.output_gradient.data(),
          .query_gradient = tensors.query_gradient.data(),
          .key_gradient = tensors.key_gradient.data(),
          .value_gradient = tensors.value_gradient.data()};
}

TEST(EvenpackWorkerTest, WithoutAWorkerTheThreadHasTheError) {
  EvenpackWorker* worker = reinterpret_cast<EvenpackWorker*>(&worker);
  EXPECT_EQ(evenpack_worker_open(nullptr, &worker), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(worker, nullptr);
  EXPECT_THAT(evenpack_worker_error(nullptr), StartsWith("options: NULL is not"));
  EvenpackWorkerOptions options{};
  EXPECT_EQ(evenpack_worker_open(&options, &worker), EVENPACK_INVALID_ARGUMENT);
  EXPECT_THAT(evenpack_worker_error(nullptr), StartsWith("options.struct_size: 0 is"));
  EXPECT_EQ(evenpack_worker_open(&options, nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_THAT(evenpack_worker_error(nullptr), StartsWith("worker: NULL is not"));
  std::thread([] { EXPECT_STREQ(evenpack_worker_error(nullptr), ""); }).join();
  EXPECT_EQ(evenpack_worker_cp_size(nullptr), 0U);
  evenpack_worker_destroy(nullptr);
}

TEST(EvenpackWorkerTest, AServerThatIsNotThereIsTriedForAsLongAsAsked) {
  EvenpackWorkerOptions options = AcceptedOptions();
  // Nobody listens at a port that is reserved.
  options.address = "127.0.0.1:1";
  options.device = -1;
  options.server_timeout_ms = 1;
  EvenpackWorker* worker = nullptr;
  EXPECT_EQ(evenpack_worker_open(&options, &worker), EVENPACK_UNAVAILABLE);
  EXPECT_EQ(worker, nullptr);
  EXPECT_THAT(evenpack_worker_error(nullptr), HasSubstr("gave up after"));
}

TEST(EvenpackWorkerTest, NoCallTakesNoWorker) {
  EXPECT_EQ(evenpack_worker_next_step(nullptr, nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_micro_batch(nullptr, 0, nullptr),
            EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_begin_step(nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_forward(nullptr, 0, nullptr, nullptr),
            EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_backward(nullptr, 0, nullptr, nullptr),
            EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_end_step(nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_abandon(nullptr, nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_acknowledge_durable(nullptr, 0), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_cancel(nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_EQ(evenpack_worker_close(nullptr), EVENPACK_INVALID_ARGUMENT);
  EXPECT_THAT(evenpack_worker_error(nullptr),
              StartsWith("worker: NULL is not accepted; accepted: what "
                         "evenpack_worker_open gave"));
}

TEST(EvenpackWorkerTest, ACancelledWorkerSaysSo) {
  PretendedJob job(kSteps);
  const WorkerHandle worker = OpenRank(job, 0, OnProcessor(1).value());
  EXPECT_EQ(evenpack_worker_cp_size(worker.get()), 2U);
  NextStep(*worker);
  EXPECT_EQ(evenpack_worker_cancel(worker.get()), EVENPACK_OK);
  EXPECT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_CANCELLED);
  EXPECT_STRNE(evenpack_worker_error(worker.get()), "");
}

// Of a process that has made a fork.
void ExpectAForkRefusesIt(EvenpackWorker& worker) {
  EvenpackStep step{};
  step.struct_size = sizeof(step);
  EvenpackMicroBatch micro_batch{};
  micro_batch.struct_size = sizeof(micro_batch);
  EvenpackTensors tensors{};
  tensors.struct_size = sizeof(tensors);
  for (const int code :
       {evenpack_worker_next_step(&worker, &step),
        evenpack_worker_micro_batch(&worker, 0, &micro_batch),
        evenpack_worker_begin_step(&worker),
        evenpack_worker_forward(&worker, 0, &tensors, nullptr),
        evenpack_worker_backward(&worker, 0, &tensors, nullptr),
        evenpack_worker_end_step(&worker), evenpack_worker_abandon(&worker, nullptr),
        evenpack_worker_acknowledge_durable(&worker, 0),
        evenpack_worker_cancel(&worker), evenpack_worker_close(&worker)}) {
    EXPECT_EQ(code, EVENPACK_FAILED_PRECONDITION);
  }
  EXPECT_THAT(evenpack_worker_error(&worker),
              StartsWith(absl::StrCat("worker: that of process ", getppid(),
                                      " in its fork ", getpid(), " is not accepted")));
}

TEST(EvenpackWorkerTest, InAForkOfItsProcessItIsRefusedAndLeftAsItIs) {
  PretendedJob job(kSteps);
  const WorkerHandle worker = OpenRank(job, 0, OnProcessor(1).value());
  NextStep(*worker);
  const pid_t child = fork();
  if (child == 0) {
    // Its end, where a call waits for threads that it doesn't have.
    alarm(60);
    ExpectAForkRefusesIt(*worker);
    evenpack_worker_destroy(worker.get());
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(evenpack_worker_error(worker.get()), "");
  EXPECT_EQ(NextStep(*worker).index, 1U);
}

EvenpackMicroBatch Shown(EvenpackWorker& worker, uint32_t micro_batch) {
  EvenpackMicroBatch shown{};
  shown.struct_size = sizeof(shown);
  EXPECT_EQ(evenpack_worker_micro_batch(&worker, micro_batch, &shown), EVENPACK_OK);
  return shown;
}

TEST(EvenpackWorkerTest, WhatAMicroBatchPointsAtStaysWhereItIsAskedForAgain) {
  PretendedJob job(kSteps);
  const WorkerHandle worker = OpenRank(job, 0, OnProcessor(1).value());
  uint64_t documents = 0;
  for (uint64_t steps = 0; steps < kSteps; ++steps) {
    const EvenpackStep step = NextStep(*worker);
    for (uint32_t i = 0; i < step.micro_batches; ++i) {
      const EvenpackMicroBatch first = Shown(*worker, i);
      const EvenpackMicroBatch again = Shown(*worker, i);
      EXPECT_EQ(again.document, first.document);
      EXPECT_EQ(again.slice, first.slice);
      EXPECT_EQ(again.documents, first.documents);
      EXPECT_EQ(again.slices, first.slices);
      EXPECT_EQ(again.tokens, first.tokens);
      EXPECT_EQ(again.padding, first.padding);
      documents += first.documents;
    }
  }
  EXPECT_GT(documents, 0U);
}

// The job's first micro-batches in which rank 0 has a row.
struct FirstRows {
  uint32_t micro_batch = 0;
  bool found = false;
};
FirstRows FindRows(EvenpackWorker& worker, const EvenpackStep& step) {
  for (uint32_t i = 0; i < step.micro_batches; ++i) {
    if (Shown(worker, i).tokens > 0) return {i, true};
  }
  return {};
}

template <typename T>
T* MovedBy(size_t bytes, const T* tensor) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): where no T can be.
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(tensor) + bytes);
}

// Of float32.
void ExpectTensorsBetweenNumbersAreRefused(EvenpackWorker& worker, uint32_t micro_batch,
                                           const EvenpackTensors& given) {
  const auto expect = [&](const EvenpackTensors& moved, const char* name) {
    EXPECT_EQ(evenpack_worker_forward(&worker, micro_batch, &moved, nullptr),
              EVENPACK_INVALID_ARGUMENT);
    EXPECT_THAT(evenpack_worker_error(&worker),
                AllOf(StartsWith(name),
                      HasSubstr("accepted: an address that is a multiple of 4")));
  };
  EvenpackTensors moved = given;
  moved.key = MovedBy(2, static_cast<const float*>(given.key));
  expect(moved, "key: 0x");
  moved = given;
  moved.log_sum_exp = MovedBy(1, given.log_sum_exp);
  expect(moved, "log_sum_exp: 0x");
}

// All of them leave the step as it is.
void ExpectRefusals(EvenpackWorker& worker, const EvenpackStep& step) {
  const auto expect = [&worker](int code, int expected, const char* message) {
    EXPECT_EQ(code, expected);
    EXPECT_THAT(evenpack_worker_error(&worker), HasSubstr(message));
  };
  EvenpackStep shown{};
  shown.struct_size = sizeof(shown);
  EvenpackTensors none{};
  expect(evenpack_worker_begin_step(&worker), EVENPACK_FAILED_PRECONDITION,
         "has begun; accepted: the step that next_step gives");
  expect(evenpack_worker_next_step(&worker, &shown), EVENPACK_FAILED_PRECONDITION,
         "has begun; accepted: after end_step or abandon");
  expect(evenpack_worker_next_step(&worker, nullptr), EVENPACK_INVALID_ARGUMENT,
         "step: NULL is not");
  expect(evenpack_worker_micro_batch(&worker, 0, nullptr), EVENPACK_INVALID_ARGUMENT,
         "result: NULL is not");
  expect(evenpack_worker_forward(&worker, 0, nullptr, nullptr),
         EVENPACK_INVALID_ARGUMENT, "tensors: NULL is not");
  expect(evenpack_worker_backward(&worker, 0, &none, nullptr),
         EVENPACK_INVALID_ARGUMENT, "tensors.struct_size: 0 is not");
  none.struct_size = sizeof(none);
  expect(evenpack_worker_forward(&worker, step.micro_batches, &none, nullptr),
         EVENPACK_INVALID_ARGUMENT, "micro_batch: 2 is not accepted; accepted: 0 to 1");
  const FirstRows rows = FindRows(worker, step);
  if (!rows.found) return;
  RankTensors tensors =
      MadeOf(worker, rows.micro_batch, ElementType::kFloat32)
          .OfRank(worker.rank->MicroBatch(rows.micro_batch).value()->plan(), 0);
  EvenpackTensors some = TensorsOf(tensors);
  ExpectTensorsBetweenNumbersAreRefused(worker, rows.micro_batch, some);
  some.key_gradient = nullptr;
  expect(evenpack_worker_backward(&worker, rows.micro_batch, &some, nullptr),
         EVENPACK_INVALID_ARGUMENT, "key_gradient: NULL is not accepted; accepted: a");
  some.log_sum_exp = nullptr;
  expect(evenpack_worker_forward(&worker, rows.micro_batch, &some, nullptr),
         EVENPACK_INVALID_ARGUMENT, "log_sum_exp: NULL is not accepted; accepted: a");
}

void ExecutePasses(EvenpackWorker& worker, const EvenpackStep& step, uint32_t rank) {
  for (uint32_t i = 0; i < step.micro_batches; ++i) {
    const MadeMicroBatch made = MadeOf(worker, i, ElementType::kFloat32);
    const ShardPlan& plan = worker.rank->MicroBatch(i).value()->plan();
    RankTensors tensors = made.OfRank(plan, rank);
    const EvenpackTensors given = TensorsOf(tensors);
    ASSERT_EQ(evenpack_worker_forward(&worker, i, &given, nullptr), EVENPACK_OK);
    ASSERT_EQ(evenpack_worker_backward(&worker, i, &given, nullptr), EVENPACK_OK);
    EXPECT_LT(made.Compare(plan, rank, tensors).Largest(),
              AcceptedError(ElementType::kFloat32));
  }
}

TEST(EvenpackWorkerTest, RefusedCallsLeaveAStepThatCanBeExecuted) {
  PretendedJob job(kSteps);
  InBoth([&job](uint32_t rank) {
    const WorkerHandle worker = OpenRank(job, rank, OnProcessor(1).value());
    uint64_t found = 0;
    for (EvenpackStep step = NextStep(*worker); !step.drained;
         step = NextStep(*worker)) {
      ASSERT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_OK);
      if (rank == 0) {
        ExpectRefusals(*worker, step);
        found += FindRows(*worker, step).found ? 1 : 0;
      }
      ExecutePasses(*worker, step, rank);
      ASSERT_EQ(evenpack_worker_end_step(worker.get()), EVENPACK_OK);
      EXPECT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_FAILED_PRECONDITION);
      EXPECT_THAT(evenpack_worker_error(worker.get()), HasSubstr("has ended"));
      EXPECT_EQ(evenpack_worker_acknowledge_durable(worker.get(), step.index),
                EVENPACK_OK);
    }
    EXPECT_EQ(evenpack_worker_close(worker.get()), EVENPACK_OK);
    EXPECT_TRUE(rank == 1 || found > 0);
  });
}

TEST(EvenpackWorkerTest, AnAbandonedStepIsDoneAgainByAll) {
  PretendedJob job(1);
  InBoth([&job](uint32_t rank) {
    const WorkerHandle worker = OpenRank(job, rank, OnProcessor(1).value());
    const EvenpackStep step = NextStep(*worker);
    ASSERT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_OK);
    if (rank == 0) {
      EXPECT_EQ(evenpack_worker_abandon(worker.get(), "out of memory"), EVENPACK_OK);
      EXPECT_EQ(evenpack_worker_end_step(worker.get()), EVENPACK_FAILED_PRECONDITION);
    } else {
      EXPECT_EQ(evenpack_worker_end_step(worker.get()), EVENPACK_ABORTED);
      EXPECT_THAT(evenpack_worker_error(worker.get()), HasSubstr("to be done again"));
    }
    ASSERT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_OK);
    ExecutePasses(*worker, step, rank);
    EXPECT_EQ(evenpack_worker_end_step(worker.get()), EVENPACK_OK);
  });
}

// Tensors that a trainer's stream fills and reads.
class StreamedTensors {
 public:
  StreamedTensors(RankTensors& tensors, FakeDevice& trainer) : trainer_(trainer) {
    given_.struct_size = sizeof(given_);
    given_.query = Hold(tensors.query, false);
    given_.key = Hold(tensors.key, false);
    given_.value = Hold(tensors.value, false);
    given_.output_gradient = Hold(tensors.output_gradient, false);
    given_.output = Hold(tensors.output, true);
    given_.log_sum_exp = static_cast<float*>(Hold(tensors.log_sum_exp, true));
    given_.query_gradient = Hold(tensors.query_gradient, true);
    given_.key_gradient = Hold(tensors.key_gradient, true);
    given_.value_gradient = Hold(tensors.value_gradient, true);
  }

  const EvenpackTensors& given() const { return given_; }
  void Read() {
    for (const Held& held : held_) {
      if (held.is_result) trainer_.Get(held.buffer, held.host);
    }
  }

 private:
  struct Held {
    CudaBuffer buffer;
    void* host = nullptr;
    bool is_result = false;
  };

  template <typename T>
  void* Hold(std::vector<T>& values, bool is_result) {
    if (values.empty()) return nullptr;
    held_.push_back(
        {trainer_.Take(values.size() * sizeof(T)), values.data(), is_result});
    trainer_.Put(values.data(), held_.back().buffer);
    return held_.back().buffer.data();
  }

  FakeDevice& trainer_;
  std::vector<Held> held_;
  EvenpackTensors given_{};
};

void ExpectCapturedStreamIsRefused(EvenpackWorker& worker, uint32_t micro_batch,
                                   const EvenpackTensors& given, FakeDevice& trainer) {
  const CurrentContext current(*trainer.context());
  const cuda::Functions& call = trainer.context()->functions();
  cuda::Graph graph = nullptr;
  call.cuStreamBeginCapture_v2(trainer.compute(), cuda::kCaptureRelaxed);
  EXPECT_EQ(evenpack_worker_forward(&worker, micro_batch, &given, trainer.compute()),
            EVENPACK_FAILED_PRECONDITION);
  EXPECT_THAT(evenpack_worker_error(&worker), HasSubstr("is being captured"));
  call.cuStreamEndCapture(trainer.compute(), &graph);
  call.cuGraphDestroy(graph);
}

void ExpectMisalignedTensorsAreRefused(EvenpackWorker& worker, uint32_t micro_batch,
                                       const EvenpackTensors& given,
                                       FakeDevice& trainer) {
  if (given.key == nullptr) return;
  EvenpackTensors moved = given;
  moved.key = static_cast<const char*>(given.key) + 8;
  EXPECT_EQ(evenpack_worker_forward(&worker, micro_batch, &moved, trainer.compute()),
            EVENPACK_INVALID_ARGUMENT);
  EXPECT_THAT(evenpack_worker_error(&worker),
              AllOf(StartsWith("key: "),
                    HasSubstr("accepted: an address that is a multiple of 16")));
}

using DeviceWorkerTest = FakeNcclTest;

TEST_F(DeviceWorkerTest, PassesComeBetweenWhatTheTrainersStreamDoes) {
  PretendedJob job(kSteps);
  constexpr ElementType kType = ElementType::kBfloat16;
  InBoth([&job](uint32_t rank) {
    FakeDevice trainer;
    const WorkerHandle worker = OpenRank(job, rank, FormOnDoubles(NcclTiming()), kType);
    for (EvenpackStep step = NextStep(*worker); !step.drained;
         step = NextStep(*worker)) {
      ASSERT_EQ(evenpack_worker_begin_step(worker.get()), EVENPACK_OK);
      for (uint32_t i = 0; i < step.micro_batches; ++i) {
        const MadeMicroBatch made = MadeOf(*worker, i, kType);
        const ShardPlan& plan = worker->rank->MicroBatch(i).value()->plan();
        RankTensors tensors = made.OfRank(plan, rank);
        StreamGate gate;
        gate.Close(*trainer.context(), trainer.compute());
        StreamedTensors streamed(tensors, trainer);
        ExpectCapturedStreamIsRefused(*worker, i, streamed.given(), trainer);
        ExpectMisalignedTensorsAreRefused(*worker, i, streamed.given(), trainer);
        EXPECT_EQ(evenpack_worker_forward(worker.get(), i, &streamed.given(),
                                          trainer.compute()),
                  EVENPACK_OK);
        EXPECT_EQ(evenpack_worker_backward(worker.get(), i, &streamed.given(),
                                           trainer.compute()),
                  EVENPACK_OK);
        streamed.Read();
        gate.Open();
        trainer.Synchronize();
        EXPECT_LT(made.Compare(plan, rank, tensors).Largest(), AcceptedError(kType));
      }
      ASSERT_EQ(evenpack_worker_end_step(worker.get()), EVENPACK_OK)
          << evenpack_worker_error(worker.get());
    }
  });
}

}  // namespace
}  // namespace evenpack::worker
