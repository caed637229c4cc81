#include "client/cpp/latency_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/client/cpp/session_fixture.h"
#include "tests/testing/refused_threads.h"

namespace evenpack::client {
namespace {

using std::chrono::seconds;
using ::testing::_;
using ::testing::Each;
using ::testing::SizeIs;

// A sleeper whose sleeps end when the test says so.
class GatedSleeper final : public Sleeper {
 public:
  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    std::unique_lock<std::mutex> lock(mutex_);
    slept_.push_back(duration);
    if (!changed_.wait(lock, stop, [this] { return open_ > 0; })) return false;
    --open_;
    return true;
  }
  void LetOnePass() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++open_;
    changed_.notify_all();
  }
  std::vector<std::chrono::nanoseconds> slept() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return slept_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  int open_ = 0;
  std::vector<std::chrono::nanoseconds> slept_;
};

class LatencyReporterTest : public testing::SessionFixture {
 protected:
  LatencyReporterTest() {
    client_options_.sleeper = gate_;
    options_.job = "run";
    options_.dp_rank = 3;
    options_.report_interval = seconds(10);
    ON_CALL(*stub_, ReportLatency)
        .WillByDefault(
            [this](const auto& request, const auto&) { return AnswerTo(request); });
  }

  absl::StatusOr<v1::ReportLatencyResponse> AnswerTo(
      const v1::ReportLatencyRequest& request) {
    MutexLock lock(mutex_);
    reports_.push_back(request);
    changed_.SignalAll();
    if (!answer_.ok()) return answer_;
    return v1::ReportLatencyResponse();
  }
  // It comes, and is answered when the gate lets one pass, or cancelled.
  void HoldTheFirstReport() {
    EXPECT_CALL(*stub_, ReportLatency)
        .WillOnce([this](const auto& request, const CallOptions& options) {
          held_ = options.stop;
          const auto answer = AnswerTo(request);
          return gate_->Sleep(seconds(1), options.stop) ? answer
                                                        : absl::CancelledError("");
        })
        .WillRepeatedly(::testing::DoDefault());
  }

  v1::ReportLatencyRequest AwaitReport() {
    MutexLock lock(mutex_);
    while (reports_.empty()) changed_.Wait(mutex_);
    v1::ReportLatencyRequest report = std::move(reports_.front());
    reports_.pop_front();
    return report;
  }
  size_t reports() {
    MutexLock lock(mutex_);
    return reports_.size();
  }
  void AnswerWith(const absl::Status& status) {
    MutexLock lock(mutex_);
    answer_ = status;
  }

  const std::shared_ptr<GatedSleeper> gate_ = std::make_shared<GatedSleeper>();
  ConsumerOptions options_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::ReportLatencyRequest> reports_;
  absl::Status answer_;
  // Of the report that is held.
  std::stop_token held_;
};

TEST_F(LatencyReporterTest, SendsWhatCameTogetherOnceAnInterval) {
  options_.cp_rank = 1;
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(0);
  reporter.AddStep(2.5);
  reporter.AddLatency({7, 14, 100, 200});
  reporter.AddLatency({7, 15, 101, 0});
  gate_->LetOnePass();
  v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.job(), "run");
  EXPECT_EQ(report.dp_rank(), 3U);
  EXPECT_EQ(report.cp_rank(), 1U);
  EXPECT_EQ(report.step_wait_seconds(), 2.5);
  EXPECT_EQ(report.steps_taken(), 2U);
  ASSERT_THAT(report.micro_batches(), SizeIs(2));
  EXPECT_EQ(report.micro_batches(1).step(), 7U);
  EXPECT_EQ(report.micro_batches(1).micro_batch(), 15U);
  EXPECT_EQ(report.micro_batches(0).forward_ns(), 100);
  EXPECT_EQ(report.micro_batches(0).backward_ns(), 200);

  reporter.AddStep(0.5);
  gate_->LetOnePass();
  report = AwaitReport();
  EXPECT_EQ(report.step_wait_seconds(), 0.5);
  EXPECT_EQ(report.steps_taken(), 1U);
  EXPECT_THAT(report.micro_batches(), SizeIs(0));
  EXPECT_THAT(gate_->slept(), Each(seconds(10)));
}

TEST_F(LatencyReporterTest, AFigureWhoseThreadIsRefusedGoesWithTheNext) {
  LatencyReporter reporter(stub_, client_options_, options_);
  {
    const testing::RefusedThreads refused;
    reporter.AddStep(2);
    reporter.AddLatency({7, 14, 100, 200});
  }
  reporter.AddStep(0.5);
  gate_->LetOnePass();
  const v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.step_wait_seconds(), 2.5);
  EXPECT_EQ(report.steps_taken(), 2U);
  EXPECT_THAT(report.micro_batches(), SizeIs(1));
}

TEST_F(LatencyReporterTest, WhatTheServerDidNotCountGoesWithTheNextReport) {
  LatencyReporter reporter(stub_, client_options_, options_);
  for (const auto code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted}) {
    AnswerWith(absl::Status(code, ""));
    reporter.AddStep(1);
    reporter.AddLatency({1, 2, 3, 4});
    gate_->LetOnePass();
    AwaitReport();
  }
  AnswerWith(absl::OkStatus());
  gate_->LetOnePass();
  const v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.step_wait_seconds(), 2);
  EXPECT_EQ(report.steps_taken(), 2U);
  EXPECT_THAT(report.micro_batches(), SizeIs(2));
}

TEST_F(LatencyReporterTest, WhatTheServerMayHaveCountedIsNotSentAgain) {
  LatencyReporter reporter(stub_, client_options_, options_);
  AnswerWith(absl::DeadlineExceededError("10 s"));
  reporter.AddStep(1);
  reporter.AddLatency({1, 2, 3, 4});
  gate_->LetOnePass();
  AwaitReport();
  AnswerWith(absl::OkStatus());
  reporter.AddStep(0.25);
  gate_->LetOnePass();
  const v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.step_wait_seconds(), 0.25);
  EXPECT_EQ(report.steps_taken(), 1U);
  EXPECT_THAT(report.micro_batches(), SizeIs(0));
}

TEST_F(LatencyReporterTest, ALatencyThatIsRefusedDoesNotCostTheWaits) {
  LatencyReporter reporter(stub_, client_options_, options_);
  AnswerWith(absl::OutOfRangeError("step: 1 isn't kept"));
  reporter.AddStep(1.5);
  reporter.AddLatency({1, 2, 3, 4});
  gate_->LetOnePass();
  EXPECT_THAT(AwaitReport().micro_batches(), SizeIs(1));
  gate_->LetOnePass();
  const v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.step_wait_seconds(), 1.5);
  EXPECT_THAT(report.micro_batches(), SizeIs(0));
}

TEST_F(LatencyReporterTest, KeepsTheLatest65536Latencies) {
  LatencyReporter reporter(stub_, client_options_, options_);
  for (uint64_t step = 0; step < 65'540; ++step) reporter.AddLatency({step, 0, 1, 1});
  reporter.Finish({});
  const v1::ReportLatencyRequest report = AwaitReport();
  ASSERT_THAT(report.micro_batches(), SizeIs(65'536));
  EXPECT_EQ(report.micro_batches(0).step(), 4U);
}

TEST_F(LatencyReporterTest, FinishingSendsTheRestAndNothingLater) {
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(1);
  reporter.Finish({});
  EXPECT_EQ(AwaitReport().steps_taken(), 1U);
  reporter.AddStep(1);
  gate_->LetOnePass();
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, FinishingAwaitsAReportUnderWayAndThenSendsTheRest) {
  HoldTheFirstReport();
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(1);
  gate_->LetOnePass();
  EXPECT_EQ(AwaitReport().steps_taken(), 1U);
  reporter.AddStep(0.5);
  std::jthread finishing([&reporter] { reporter.Finish({}); });
  gate_->LetOnePass();
  EXPECT_EQ(AwaitReport().step_wait_seconds(), 0.5);
  EXPECT_FALSE(held_.stop_requested());
}

TEST_F(LatencyReporterTest, AStopCancelsAReportThatFinishingAwaits) {
  HoldTheFirstReport();
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(1);
  gate_->LetOnePass();
  AwaitReport();
  std::stop_source closing;
  std::jthread finishing([&] { reporter.Finish(closing.get_token()); });
  closing.request_stop();
  finishing.join();
  EXPECT_TRUE(held_.stop_requested());
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, FinishingEndsTheInterval) {
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(1);
  while (gate_->slept().empty()) std::this_thread::yield();
  reporter.Finish({});
  EXPECT_EQ(AwaitReport().steps_taken(), 1U);
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, FinishingWithNothingSendsNothing) {
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.Finish({});
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, AnIntervalOfZeroReportsNothing) {
  options_.report_interval = seconds(0);
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddStep(1);
  reporter.Finish({});
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, DestroyingItCancelsAReportUnderWay) {
  HoldTheFirstReport();
  {
    LatencyReporter reporter(stub_, client_options_, options_);
    reporter.AddStep(1);
    gate_->LetOnePass();
    AwaitReport();
  }
  EXPECT_TRUE(held_.stop_requested());
}

TEST_F(LatencyReporterTest, AHurryIsAnsweredBehindTheReportOfWhatWaits) {
  LatencyReporter reporter(stub_, client_options_, options_);
  EXPECT_FALSE(reporter.Hurry([] {}));
  reporter.AddStep(1);
  EXPECT_FALSE(reporter.Hurry([] {}));
  reporter.AddLatency({1, 2, 3, 4});
  std::promise<size_t> reports_before;
  EXPECT_TRUE(reporter.Hurry([&] { reports_before.set_value(reports()); }));
  EXPECT_EQ(reports_before.get_future().get(), 1U);
  EXPECT_THAT(AwaitReport().micro_batches(), SizeIs(1));
}

TEST_F(LatencyReporterTest, AHurryWaitsForLatenciesThatAreUnderWay) {
  HoldTheFirstReport();
  LatencyReporter reporter(stub_, client_options_, options_);
  reporter.AddLatency({1, 2, 3, 4});
  gate_->LetOnePass();
  AwaitReport();
  std::promise<void> answered;
  std::future<void> answer = answered.get_future();
  EXPECT_TRUE(reporter.Hurry([&] { answered.set_value(); }));
  EXPECT_NE(answer.wait_for(seconds(0)), std::future_status::ready);
  gate_->LetOnePass();
  answer.get();
  EXPECT_EQ(reports(), 0U);
}

TEST_F(LatencyReporterTest, AHurryIsAnsweredThoughTheReportFailed) {
  LatencyReporter reporter(stub_, client_options_, options_);
  AnswerWith(absl::UnavailableError(""));
  reporter.AddLatency({1, 2, 3, 4});
  std::promise<void> answered;
  EXPECT_TRUE(reporter.Hurry([&] { answered.set_value(); }));
  answered.get_future().get();
}

TEST_F(LatencyReporterTest, NoHurryWaitsForWhatIsNotSent) {
  LatencyReporter finished(stub_, client_options_, options_);
  finished.Finish({});
  finished.AddLatency({1, 2, 3, 4});
  EXPECT_FALSE(finished.Hurry([] {}));
  options_.report_interval = seconds(0);
  LatencyReporter silent(stub_, client_options_, options_);
  silent.AddLatency({1, 2, 3, 4});
  EXPECT_FALSE(silent.Hurry([] {}));
}

TEST_F(LatencyReporterTest, WhatTheWorkerMeasuredIsSentWhereItDid) {
  options_.cp_rank = 1;
  LatencyReporter reporter(stub_, client_options_, options_);
  MeasuredLatency latency;
  latency.step = 4;
  latency.micro_batch = 2;
  reporter.AddLatency(latency);
  latency.attention = {1, 2, 3, 4, 5};
  reporter.AddLatency(latency);
  reporter.Finish({});
  const v1::ReportLatencyRequest report = AwaitReport();
  EXPECT_EQ(report.cp_rank(), 1U);
  ASSERT_EQ(report.micro_batches_size(), 2);
  EXPECT_FALSE(report.micro_batches(0).has_attention());
  const v1::AttentionLatency& attention = report.micro_batches(1).attention();
  EXPECT_EQ(attention.forward_passes(), 1U);
  EXPECT_EQ(attention.backward_passes(), 2U);
  EXPECT_EQ(attention.forward_ns(), 3);
  EXPECT_EQ(attention.backward_ns(), 4);
  EXPECT_EQ(attention.waited_ns(), 5);
}

}  // namespace
}  // namespace evenpack::client
