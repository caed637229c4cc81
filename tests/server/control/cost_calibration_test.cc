// Simulated trainers whose machines are not as the job's costs say.
#include "server/control/cost_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/control/job.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::ControlRoom;
using testing::Describe;
using testing::DoIngest;
using testing::DoUpdate;
using testing::Draw;
using testing::Follower;
using testing::GivenLengths;
using testing::IsOk;
using testing::MakeSpec;

constexpr uint32_t kWindow = 131'072;
constexpr int64_t kOne = CostScales::kOne;

// A description is "ATTENTION LINEAR auto" or "... manual", scales in millionths.
CostScales ReadScales(const JobSpec& spec) {
  const std::vector<std::string> words = absl::StrSplit(spec.description, ' ');
  CostScales scales;
  if (words.size() < 3) return scales;
  EXPECT_TRUE(absl::SimpleAtoi(words[0], &scales.attention_ppm));
  EXPECT_TRUE(absl::SimpleAtoi(words[1], &scales.linear_ppm));
  return scales;
}

CalibrationTerms Terms() {
  CalibrationTerms terms;
  terms.scales_of = ReadScales;
  terms.is_automatic = [](const JobSpec& spec) {
    return spec.description.ends_with("auto");
  };
  terms.describe = [](const JobSpec& spec, const CostScales& scales) {
    const std::vector<std::string> words = absl::StrSplit(spec.description, ' ');
    return absl::StrCat(scales.attention_ppm, " ", scales.linear_ppm, " ",
                        words.back());
  };
  return terms;
}

// 2 DP ranks with 4 micro-batches each. Costs are those that the scales say.
JobSpec SpecWith(const CostScales& scales, const std::string& mode) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 8, kWindow);
  spec.data_parallel = 2;
  spec.workload =
      Rescaled(spec.workload, CostScales(), scales, spec.micro_batches).value();
  spec.description =
      absl::StrCat(scales.attention_ppm, " ", scales.linear_ppm, " ", mode);
  return spec;
}

const WorkloadTable& Model() {
  static const WorkloadTable* const kModel =
      new WorkloadTable(SpecWith(CostScales(), "auto").workload);
  return *kModel;
}

// Both ranks of the job: execute a step, and report each rank's micro-batches.
class Trainer {
 public:
  Trainer(const CostScales& truth, uint64_t seed) : truth_(truth), random_(seed) {}

  absl::Status Execute(Job& job, uint64_t index) {
    const auto step = job.FindStep(index);
    if (!step.ok()) return step.status();
    for (const uint32_t rank : {0U, 1U}) {
      LatencyReport report;
      report.dp_rank = rank;
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t micro_batch = 4 * rank + i;
        report.micro_batches.push_back(
            {index, micro_batch, Measure((*step)->step.micro_batches[micro_batch])});
      }
      const auto predicted = job.ReportLatency(report);
      if (!predicted.ok()) return predicted.status();
    }
    return absl::OkStatus();
  }

 private:
  // Noise of 4% either way, and one in ten that is 1.5 to 10 times as slow.
  int64_t Measure(const MicroBatch& micro_batch) {
    double attention = 0;
    for (const Document& document : micro_batch.documents) {
      attention += static_cast<double>(Model().AttentionNs(document.length));
    }
    const auto linear = static_cast<double>(Model().LinearNs(micro_batch.tokens));
    double took = (attention * static_cast<double>(truth_.attention_ppm) +
                   linear * static_cast<double>(truth_.linear_ppm)) /
                  static_cast<double>(kOne);
    took *= static_cast<double>(Draw(random_, 960, 1040)) / 1000;
    if (Draw(random_, 1, 10) == 1) took *= Draw(random_, 15, 100) / 10.0;
    return static_cast<int64_t>(took);
  }

  CostScales truth_;
  std::mt19937_64 random_;
};

void ExpectWithin(const CostScales& scales, const CostScales& truth, double share) {
  EXPECT_NEAR(static_cast<double>(scales.attention_ppm) /
                  static_cast<double>(truth.attention_ppm),
              1, share);
  EXPECT_NEAR(
      static_cast<double>(scales.linear_ppm) / static_cast<double>(truth.linear_ppm), 1,
      share);
}

class CostCalibrationTest : public ::testing::Test {
 protected:
  CostCalibrationTest() { room_.SetCalibration(Terms()); }

  // Documents for so many steps more, one by one, each executed before the next is
  // decided.
  void Train(Job& job, Trainer& trainer, uint64_t steps) {
    const std::vector<uint32_t>& lengths = GivenLengths();
    uint64_t next = Describe(job)->next_step;
    const uint64_t end = next + steps;
    while (next < end) {
      ASSERT_LT(sent_ + 20, lengths.size());
      const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(sent_);
      ASSERT_THAT(DoIngest(job, sent_, {first, first + 20}), IsOk());
      sent_ += 20;
      const uint64_t decided = Describe(job)->next_step;
      for (; next < decided; ++next) ASSERT_THAT(trainer.Execute(job, next), IsOk());
    }
  }
  static CalibrationStatus Status(Job& job) {
    // What was decided is committed then.
    EXPECT_THAT(Describe(job), IsOk());
    return job.Calibration().value();
  }

  ControlRoom room_;
  size_t sent_ = 0;
};

TEST_F(CostCalibrationTest, AJobThatAsksForItCorrectsAModelWrongByTwoInFiftySteps) {
  for (const CostScales truth : {CostScales{2 * kOne, kOne}, CostScales{kOne / 2, kOne},
                                 CostScales{kOne, 2 * kOne}}) {
    sent_ = 0;
    const auto job =
        room_.MakeJob(SpecWith(CostScales(), "auto"),
                      absl::StrCat(truth.attention_ppm, "-", truth.linear_ppm));
    Trainer trainer(truth, 1);
    Train(*job, trainer, 50);
    const CalibrationStatus status = Status(*job);
    EXPECT_TRUE(status.separable);
    ExpectWithin(status.applied, truth, 0.05);
    EXPECT_GE(status.calibrations, 3U);
    EXPECT_LE(status.calibrations, 6U);
    const JobStatus described = Describe(*job).value();
    EXPECT_EQ(described.epoch, 0U);
    EXPECT_EQ(ReadScales(*described.spec), status.applied);
    // Its table is the model's with these scales.
    const WorkloadTable& table = described.spec->workload;
    const WorkloadTable expected =
        Rescaled(Model(), CostScales(), status.applied, 8).value();
    for (const uint32_t tokens : {1'000U, 50'000U, 150'000U}) {
      EXPECT_NEAR(static_cast<double>(table.AttentionNs(tokens)),
                  static_cast<double>(expected.AttentionNs(tokens)), 10);
      EXPECT_NEAR(static_cast<double>(table.LinearNs(tokens)),
                  static_cast<double>(expected.LinearNs(tokens)), 10);
    }
    EXPECT_EQ(job->FindStep(described.next_step - 1).value()->spec->workload, table);
  }
}

TEST_F(CostCalibrationTest, RanksNoticeNothingAndAnotherServerHasTheSameJob) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "auto"));
  Follower follower(job);
  Trainer trainer({2 * kOne, kOne}, 2);
  Train(*job, trainer, 30);
  const CalibrationStatus status = Status(*job);
  ASSERT_GE(status.calibrations, 2U);
  const JobStatus before = Describe(*job).value();
  for (uint64_t step = 0; step < before.next_step; ++step) {
    const auto taken = follower.TakeStep();
    EXPECT_EQ(taken->step.index, step);
    EXPECT_EQ(taken->step.epoch, 0U);
  }
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));

  const auto recovered = room_.RecoverJob();
  const JobStatus after = Describe(*recovered).value();
  EXPECT_EQ(*after.spec, *before.spec);
  EXPECT_EQ(after.digest, before.digest);
  for (uint64_t step = 0; step < before.next_step; ++step) {
    EXPECT_EQ(recovered->FindStep(step).value()->step,
              job->FindStep(step).value()->step);
    EXPECT_EQ(recovered->FindStep(step).value()->spec->workload,
              job->FindStep(step).value()->spec->workload);
  }
  // It has no observations, and what was applied.
  const CalibrationStatus anew = Status(*recovered);
  EXPECT_EQ(anew.observations, 0U);
  EXPECT_EQ(anew.applied, status.applied);
  Trainer again({2 * kOne, kOne}, 3);
  Train(*recovered, again, 30);
  ExpectWithin(Status(*recovered).applied, {2 * kOne, kOne}, 0.05);
}

TEST_F(CostCalibrationTest, AJobThatDoesNotAskIsToldWhatToSet) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "manual"));
  EXPECT_FALSE(Status(*job).measured.has_value());
  Trainer trainer({2 * kOne, kOne}, 4);
  Train(*job, trainer, 20);
  CalibrationStatus status = Status(*job);
  EXPECT_EQ(status.applied, CostScales());
  ASSERT_TRUE(status.measured.has_value());
  ExpectWithin(*status.measured, {2 * kOne, kOne}, 0.05);
  EXPECT_EQ(status.suggested, (CostScales{1'250'000, kOne}));
  EXPECT_EQ(status.calibrations, 0U);
  // Its operator does, and begins a new epoch by it.
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(DoUpdate(*job, SpecWith(status.suggested, "manual")), IsOk());
    EXPECT_EQ(Status(*job).observations, 0U);
    Train(*job, trainer, 10);
    status = Status(*job);
  }
  EXPECT_EQ(status.suggested, status.applied);
  ExpectWithin(status.applied, {2 * kOne, kOne}, 0.05);
  EXPECT_EQ(Describe(*job)->epoch, 4U);
}

TEST_F(CostCalibrationTest, OneWhoseCommitFailsIsTriedAgainWithNewEvidence) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "auto"));
  Trainer trainer({2 * kOne, kOne}, 5);
  Train(*job, trainer, 7);
  ASSERT_EQ(Status(*job).applied, CostScales());
  const uint64_t next = Describe(*job)->next_step;
  // The documents of one step more, and the commit after it fails.
  const std::vector<uint32_t>& lengths = GivenLengths();
  while (Describe(*job)->next_step == next) {
    ASSERT_THAT(DoIngest(*job, sent_, {lengths[sent_]}), IsOk());
    ++sent_;
  }
  room_.store().FailCommits(2);
  ASSERT_THAT(trainer.Execute(*job, next), IsOk());
  room_.AwaitCommits();
  EXPECT_EQ(Status(*job).applied, CostScales());
  EXPECT_EQ(Status(*job).calibrations, 0U);
  Train(*job, trainer, 12);
  EXPECT_EQ(Status(*job).applied.attention_ppm, 1'250'000);
}

TEST_F(CostCalibrationTest, StepsOfAnEpochThatEndedDoNotCount) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "auto"));
  Trainer trainer(CostScales(), 6);
  Train(*job, trainer, 6);
  EXPECT_EQ(Status(*job).observations, 48U);
  ASSERT_THAT(DoUpdate(*job, SpecWith({3 * kOne, kOne}, "auto")), IsOk());
  ASSERT_THAT(trainer.Execute(*job, 5), IsOk());
  EXPECT_EQ(Status(*job).observations, 0U);
  EXPECT_EQ(Status(*job).applied, (CostScales{3 * kOne, kOne}));
}

TEST_F(CostCalibrationTest, OfOneReportFewCountAndThoseWithoutATimeNone) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "auto"));
  ASSERT_THAT(
      DoIngest(*job, 0, {GivenLengths().begin(), GivenLengths().begin() + 6000}),
      IsOk());
  ASSERT_GE(Describe(*job)->next_step, 20U);
  LatencyReport report;
  for (uint64_t step = 0; step < 20; ++step) {
    for (uint32_t i = 0; i < 4; ++i) report.micro_batches.push_back({step, i, 0});
  }
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  EXPECT_EQ(Status(*job).observations, 0U);
  for (MeasuredMicroBatch& measured : report.micro_batches) measured.forward_ns = 5;
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  EXPECT_EQ(Status(*job).observations, CostCalibration::kMostOfReport);
  // Those that were passed over were reported, too.
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  EXPECT_EQ(Status(*job).observations, CostCalibration::kMostOfReport);
}

TEST_F(CostCalibrationTest, AMicroBatchThatIsReportedAgainCountsOnce) {
  const auto job = room_.MakeJob(SpecWith(CostScales(), "auto"));
  Trainer trainer(CostScales(), 7);
  Train(*job, trainer, 2);
  EXPECT_EQ(Status(*job).observations, 16U);
  // By the processes of a rank, by one that sends again, or twice in one report.
  for (int i = 0; i < 16; ++i) ASSERT_THAT(trainer.Execute(*job, 1), IsOk());
  LatencyReport report;
  report.micro_batches = {{0, 1, 5}, {0, 1, 5}, {1, 2, 5}};
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  EXPECT_EQ(Status(*job).observations, 16U);
  EXPECT_FALSE(Status(*job).measured.has_value());
  // After a rewind the same steps are others.
  ASSERT_THAT(DoUpdate(*job, SpecWith(CostScales(), "manual")), IsOk());
  Train(*job, trainer, 1);
  EXPECT_EQ(Status(*job).observations, 8U);
}

TEST_F(CostCalibrationTest, WithoutTermsScalesAreOneAndNothingIsSet) {
  ControlRoom room;
  const auto job = room.MakeJob(SpecWith(CostScales(), "auto"));
  Trainer trainer({2 * kOne, kOne}, 8);
  Train(*job, trainer, 20);
  const CalibrationStatus status = Status(*job);
  EXPECT_EQ(status.applied, CostScales());
  EXPECT_EQ(status.calibrations, 0U);
  ExpectWithin(*status.measured, {2 * kOne, kOne}, 0.05);
}

TEST_F(CostCalibrationTest, FiguresHaveTheScales) {
  const auto job = room_.MakeJob(SpecWith({kOne, 2 * kOne}, "manual"));
  Trainer trainer({2 * kOne, 2 * kOne}, 9);
  Train(*job, trainer, 20);
  const CalibrationFigures figures = job->Figures().calibration;
  EXPECT_EQ(figures.applied.attention, 1);
  EXPECT_EQ(figures.applied.linear, 2);
  ASSERT_TRUE(figures.measured.has_value());
  EXPECT_NEAR(figures.measured->attention, 2, 0.1);
  EXPECT_EQ(figures.suggested.attention, 1.25);
  EXPECT_EQ(figures.suggested.linear, 2);
  EXPECT_TRUE(figures.separable);
  EXPECT_GE(figures.observations, 160U);
}

}  // namespace
}  // namespace evenpack
