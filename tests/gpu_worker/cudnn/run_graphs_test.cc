#include "gpu_worker/cudnn/run_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;

// Adds 1 to the number at `key_gradient`.
class Counting final : public AttentionPlan {
 public:
  Counting(const FakeDevice& device) : device_(device) {}

  size_t workspace_bytes() const override { return 0; }
  absl::Status Run(const PlanTables&, const PlanTensors& tensors, void*,
                   cuda::Stream stream) override {
    ++runs;
    if (only_in != nullptr && stream != only_in) {
      return absl::UnimplementedError("another stream");
    }
    if (!status.ok()) return status;
    const CurrentContext current(*device_.context());
    return device_.context()->Check(
        fakeCudaLaunch(
            stream,
            [](const void* argument) { ++**static_cast<int* const*>(argument); },
            &tensors.key_gradient, sizeof(tensors.key_gradient)),
        "to count");
  }

  int runs = 0;
  // Fails in others.
  cuda::Stream only_in = nullptr;
  absl::Status status;

 private:
  const FakeDevice& device_;
};

class RunGraphsTest : public evenpack::testing::FakeDeviceTest {
 protected:
  static constexpr size_t kCounters = 4;

  RunGraphsTest() { device_.Write(std::vector<int>(kCounters), counters_); }

  void Create(const RunGraphs::Limits& limits) {
    graphs_ = std::make_unique<RunGraphs>(device_.context(), limits);
  }
  // Of the plan on each of these counters.
  PlannedRuns RunsOn(const std::vector<size_t>& counters) {
    PlannedRuns of;
    for (const size_t i : counters) {
      PlannedRun& run = of.runs.emplace_back();
      run.plan = &plan_;
      run.tensors.key_gradient = static_cast<int*>(counters_.data()) + i;
    }
    return of;
  }
  absl::Status Run(const std::vector<size_t>& counters) {
    return graphs_->Run(RunsOn(counters), device_.compute());
  }
  std::vector<int> Counters() { return device_.Read<int>(counters_); }

  FakeDevice device_;
  CudaBuffer counters_ = device_.Take(kCounters * sizeof(int));
  Counting plan_{device_};
  std::unique_ptr<RunGraphs> graphs_ =
      std::make_unique<RunGraphs>(device_.context(), RunGraphs::Limits{.graphs = 16});
};

TEST_F(RunGraphsTest, WhatComesASecondTimeIsAGraphFromThenOn) {
  EXPECT_THAT(Run({0, 1}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 0U);
  for (int i = 0; i < 4; ++i) EXPECT_THAT(Run({0, 1}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 1U);
  // Once as they are, and once to be captured.
  EXPECT_EQ(plan_.runs, 4);
  EXPECT_THAT(Counters(), ElementsAre(5, 5, 0, 0));
}

TEST_F(RunGraphsTest, GraphsMayFillMemoryBetweenRuns) {
  auto* const filled = static_cast<int*>(counters_.data()) + 2;
  Create({.graphs = 16, .filled = filled});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Run({2, 2}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 1U);
  EXPECT_THAT(Counters(), ElementsAre(0, 0, 1, 0)) << "the last run of the last graph";
}

TEST_F(RunGraphsTest, WhateverDiffersIsAnotherCall) {
  const PlannedRuns of = RunsOn({0});
  std::vector<PlannedRuns> others(6, of);
  others[1].workspace = counters_.data();
  others[2].runs[0].tables.query_lengths = static_cast<int*>(counters_.data());
  others[3].runs[0].tensors.query = counters_.data();
  Counting plan(device_);
  others[4].runs[0].plan = &plan;
  others[5] = RunsOn({0, 0});
  for (const PlannedRuns& each : others) {
    EXPECT_THAT(graphs_->Run(each, device_.compute()), IsOk());
  }
  EXPECT_EQ(graphs_->graphs(), 0U);
  for (const PlannedRuns& each : others) {
    EXPECT_THAT(graphs_->Run(each, device_.compute()), IsOk());
  }
  EXPECT_EQ(graphs_->graphs(), others.size());
  EXPECT_THAT(Counters(), ElementsAre(14, 0, 0, 0));
  graphs_ = nullptr;
}

TEST_F(RunGraphsTest, NoMoreAreMadeThanMayBe) {
  Create({.graphs = 1, .calls = 4});
  for (int i = 0; i < 3; ++i) {
    for (const size_t counter : {size_t{0}, size_t{1}})
      EXPECT_THAT(Run({counter}), IsOk());
  }
  EXPECT_EQ(graphs_->graphs(), 1U);
  EXPECT_THAT(Counters(), ElementsAre(3, 3, 0, 0));
  Create({});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Run({0}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 0U);
  EXPECT_THAT(Counters(), ElementsAre(6, 3, 0, 0));
}

TEST_F(RunGraphsTest, OneThatDidNotComeForLongMakesRoom) {
  Create({.graphs = 1, .calls = 2});
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Run({0}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 1U);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Run({1}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 1U);
  EXPECT_EQ(plan_.runs, 4) << "there was no room for another";
  EXPECT_THAT(Run({2}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 0U);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Run({1}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 1U);
  EXPECT_EQ(plan_.runs, 6);
  EXPECT_THAT(Counters(), ElementsAre(2, 4, 1, 0));
}

TEST_F(RunGraphsTest, WhatCannotBeAGraphIsRunAsItIsAndTriedOnce) {
  plan_.only_in = device_.compute();
  for (int i = 0; i < 4; ++i) EXPECT_THAT(Run({0}), IsOk());
  EXPECT_EQ(graphs_->graphs(), 0U);
  EXPECT_EQ(plan_.runs, 5);
  EXPECT_THAT(Counters(), ElementsAre(4, 0, 0, 0));
}

TEST_F(RunGraphsTest, ErrorsOfAPlanAreTheCallers) {
  plan_.status = absl::InternalError("a plan's");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Run({0}), StatusIs(absl::StatusCode::kInternal, "a plan's"));
  }
  EXPECT_EQ(graphs_->graphs(), 0U);
}

}  // namespace
}  // namespace evenpack::worker
