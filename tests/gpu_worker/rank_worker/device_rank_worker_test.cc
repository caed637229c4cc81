// Ranks with a device each, from the steps of a job to its attention: over doubles of
// the driver, of NCCL and of cuDNN's plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/mocks/mock_connection.h"
#include "gpu_worker/rank_worker/computed_on.h"
#include "gpu_worker/rank_worker/rank_worker.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "tests/client/cpp/test_history.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rank_form/form_on_doubles.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::MockConnection;
using client::MockConsumer;
using evenpack::testing::FakeNcclTest;
using evenpack::testing::FormOnDoubles;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeRunNanoseconds;
using evenpack::testing::StatusIs;
using evenpack::testing::TableMember;
using evenpack::testing::TestHistory;
using ::testing::HasSubstr;
using ::testing::NiceMock;

// The history's.
constexpr uint32_t kRanks = 2;
constexpr uint64_t kSteps = 4;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

// The server's part for one rank: the steps of the history, and its group.
std::shared_ptr<MockConnection> ConnectionFor(const TestHistory& history,
                                              GroupTable& table) {
  auto connection = std::make_shared<NiceMock<MockConnection>>();
  ON_CALL(*connection, OpenConsumer).WillByDefault([&history](const auto& of) {
    const auto spec = std::make_shared<const v1::JobSpec>(history.spec());
    auto consumer = std::make_unique<NiceMock<MockConsumer>>();
    client::Subscription subscription;
    subscription.spec = spec;
    ON_CALL(*consumer, AwaitSubscription)
        .WillByDefault(::testing::Return(subscription));
    ON_CALL(*consumer, Next)
        .WillByDefault([&history, spec, of, next = uint64_t{0}]() mutable
                       -> absl::StatusOr<std::optional<client::RankStep>> {
          if (next == history.size()) return std::nullopt;
          return client::RankStep::FromMessage(
              history.Step(next++, of.dp_rank, of.cp_rank).step(), spec);
        });
    return consumer;
  });
  ON_CALL(*connection, JoinGroup)
      .WillByDefault([&table](const client::GroupOptions& of) {
        return std::make_unique<TableMember>(
            table, GroupSeat{of.dp_rank, of.cp_size, of.cp_rank, of.member});
      });
  return connection;
}

class DeviceRankWorkerTest : public FakeNcclTest {
 protected:
  static RankWorkerOptions OptionsOf(uint32_t rank, RankForm& form) {
    RankWorkerOptions options;
    options.steps.job = "run";
    options.steps.cp_rank = rank;
    options.member = absl::StrCat("process", rank);
    options.shape = SmallShape();
    options.executor.head_groups = 2;
    return ComputedOn(form, options).value();
  }

  void ExecuteAll(uint32_t rank) {
    const auto form = FormOnDoubles(Timing());
    client::Client client(ConnectionFor(history_, table_));
    const auto worker =
        RankWorker::Start(client, OptionsOf(rank, *form), form->engine());
    ASSERT_THAT(worker, IsOk());
    int64_t executed = 0;
    for (;;) {
      const auto step = (*worker)->NextStep();
      ASSERT_THAT(step, IsOk());
      if (!step->has_value()) break;
      Execute(**step, rank, (*worker)->executor(), form->device());
      for (const PreparedMicroBatch& of : (*step)->micro_batches) {
        executed += of.held_rows > 0 ? 1 : 0;
      }
    }
    // What the device took, however soon the host had asked for it.
    const ExecutedWork work = (*worker)->figures().work;
    EXPECT_EQ(work.steps, kSteps);
    EXPECT_GE(work.forward_ns, executed * kFakeRunNanoseconds);
    EXPECT_GE(work.backward_ns, executed * kFakeRunNanoseconds);
  }

  static void Execute(const PreparedStep& step, uint32_t rank, GroupExecutor& executor,
                      Device& device) {
    ASSERT_THAT(executor.BeginStep(step.step.index()), IsOk());
    for (size_t i = 0; i < step.micro_batches.size(); ++i) {
      const client::MicroBatchView& view = step.step.micro_batches()[i];
      std::vector<uint32_t> lengths;
      for (const auto& document : view.documents()) lengths.push_back(document.length);
      const MadeMicroBatch made(SmallShape(), lengths, step.step.index());
      RankTensors tensors = made.OfRank(view.plan(), rank);
      const auto on_device = DeviceTensors::Copy(tensors, device).value();
      ASSERT_THAT(RunPasses(executor, step.micro_batches[i], *on_device), IsOk());
      ASSERT_THAT(on_device->ReadBack(), IsOk());
      EXPECT_LT(made.Compare(view.plan(), rank, tensors).Largest(),
                AcceptedError(ElementType::kBfloat16))
          << "rank " << rank << ", step " << step.step.index();
    }
    ASSERT_THAT(executor.EndStep(), IsOk());
  }

  const TestHistory history_{kSteps};
  GroupTable table_;
};

TEST_F(DeviceRankWorkerTest, ItsStepsAreExecutedOnItsDeviceWithItsPeers) {
  InThreads(kRanks, [this](uint32_t rank) { ExecuteAll(rank); });
}

// Rows of as many bytes were taken for what they aren't.
TEST_F(DeviceRankWorkerTest, RanksThatScaleOtherwiseAreToldSoAtTheStepsEnd) {
  InThreads(kRanks, [this](uint32_t rank) {
    const auto form = FormOnDoubles(Timing());
    client::Client client(ConnectionFor(history_, table_));
    RankWorkerOptions options = OptionsOf(rank, *form);
    options.shape.scale = rank == 0 ? 0.1F : 0.2F;
    const auto worker = RankWorker::Start(client, options, form->engine()).value();
    const auto step = worker->NextStep().value();
    GroupExecutor& executor = worker->executor();
    ASSERT_THAT(executor.BeginStep(step->step.index()), IsOk());
    for (size_t i = 0; i < step->micro_batches.size(); ++i) {
      const client::MicroBatchView& view = step->step.micro_batches()[i];
      std::vector<uint32_t> lengths;
      for (const auto& document : view.documents()) lengths.push_back(document.length);
      RankTensors tensors =
          MadeMicroBatch(SmallShape(), lengths, 1).OfRank(view.plan(), rank);
      const auto on_device = DeviceTensors::Copy(tensors, form->device()).value();
      ASSERT_THAT(RunPasses(executor, step->micro_batches[i], *on_device), IsOk());
    }
    EXPECT_THAT(executor.EndStep(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(absl::StrCat("cp_rank ", 1 - rank,
                                                " has made other passes in step 0 than "
                                                "cp_rank ",
                                                rank, "; accepted: the same passes"))));
  });
}

TEST_F(DeviceRankWorkerTest, AShapeThatTheDeviceHasNoKernelsForIsRefusedAtTheStart) {
  const auto form = FormOnDoubles(Timing());
  client::Client client(ConnectionFor(history_, table_));
  RankWorkerOptions options = OptionsOf(0, *form);
  options.shape.type = ElementType::kFloat32;
  EXPECT_THAT(
      RankWorker::Start(client, options, form->engine()).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "shape.type: float32 is not accepted; accepted: bfloat16 or float16 on "
               "a CUDA device"));
  options.shape.head_size = 63;
  EXPECT_THAT(
      RankWorker::Start(client, options, form->engine()).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("head_size")));
}

}  // namespace
}  // namespace evenpack::worker
