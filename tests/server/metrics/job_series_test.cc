#include "server/metrics/job_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/metrics/fake_figures.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const JobFigures& job) {
  MetricFamilies families;
  AddJobSeries(job, families);
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

// Lines that are a series, which must all differ.
size_t CountSeries(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (line[0] != '#') names.push_back(line.substr(0, line.rfind(' ')));
    begin = end + 1;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  return names.size();
}

JobFigures JobWithStreams(size_t count) {
  JobFigures job;
  job.job = "j";
  for (size_t i = 0; i < count; ++i) {
    StreamFigures stream;
    stream.name = absl::StrCat("s", i);
    stream.documents_accepted = 1;
    stream.tokens_accepted = 10;
    stream.buffered_documents = 100;
    stream.buffered_tokens = 1000;
    stream.buffered_bytes = 10'000;
    stream.full = i % 2 == 0;
    stream.ended = true;
    job.streams.push_back(stream);
  }
  return job;
}

TEST(JobSeriesTest, AsManyStreamsAsAreShownAreShownOneByOne) {
  const std::string text = TextOf(JobWithStreams(kMaxStreamsShown));
  EXPECT_THAT(text, HasSubstr("{job=\"j\",stream=\"s31\"}"));
  EXPECT_THAT(text, Not(HasSubstr("stream=\"other\"")));
}

TEST(JobSeriesTest, StreamsBeyondAreSummedAsOther) {
  const std::string text = TextOf(JobWithStreams(1000));
  EXPECT_THAT(text, HasSubstr("{job=\"j\",stream=\"s31\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("stream=\"s32\"")));
  const std::string labels = "{job=\"j\",stream=\"other\"} ";
  for (const std::string& line :
       {"evenpack_job_documents_accepted_total" + labels + "968\n",
        "evenpack_job_tokens_accepted_total" + labels + "9680\n",
        "evenpack_job_buffered_documents" + labels + "96800\n",
        "evenpack_job_buffered_tokens" + labels + "968000\n",
        "evenpack_job_buffered_bytes" + labels + "9680000\n",
        "evenpack_job_stream_full" + labels + "484\n",
        "evenpack_job_stream_ended" + labels + "968\n"}) {
    EXPECT_THAT(text, HasSubstr("\n" + line));
  }
}

TEST(JobSeriesTest, AStreamThatIsCalledOtherJoinsTheSum) {
  JobFigures job = JobWithStreams(kMaxStreamsShown + 1);
  job.streams[3].name = "other";
  const std::string text = TextOf(job);
  EXPECT_THAT(text,
              HasSubstr("documents_accepted_total{job=\"j\",stream=\"other\"} 2\n"));
  CountSeries(text);
}

TEST(JobSeriesTest, AStreamThatIsCalledOtherIsItselfWhereNothingIsSummed) {
  JobFigures job = JobWithStreams(2);
  job.streams[1].name = "other";
  const std::string text = TextOf(job);
  EXPECT_THAT(text,
              HasSubstr("documents_accepted_total{job=\"j\",stream=\"other\"} 1\n"));
  CountSeries(text);
}

TEST(JobSeriesTest, QueuesBeyondAreSummedAndTheirOldestIsTheGreatest) {
  JobFigures job;
  job.job = "j";
  job.queues.assign(kMaxQueuesShown + 3, {1, 10, 5});
  job.queues[kMaxQueuesShown + 1].oldest_batches = 9;
  const std::string text = TextOf(job);
  EXPECT_THAT(text, HasSubstr("queue_documents{job=\"j\",queue=\"31\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("queue=\"32\"")));
  EXPECT_THAT(text, HasSubstr("queue_documents{job=\"j\",queue=\"other\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("queue_tokens{job=\"j\",queue=\"other\"} 30\n"));
  EXPECT_THAT(text, HasSubstr("queue_oldest_batches{job=\"j\",queue=\"other\"} 9\n"));
}

TEST(JobSeriesTest, AJobWithoutPredictionsHasNoSeriesOfThem) {
  JobFigures job = testing::FilledJob("j");
  EXPECT_THAT(TextOf(job), HasSubstr("_predicted_excess_seconds_total{job=\"j\",cause="
                                     "\"pipeline\"} 726.5\n"));
  job.prediction.possible = false;
  EXPECT_THAT(TextOf(job), HasSubstr("_job_predicted_")) << "it had some";
  job.prediction = {};
  EXPECT_THAT(TextOf(job), Not(HasSubstr("_job_predicted_")));
  job.prediction.possible = true;
  EXPECT_THAT(TextOf(job),
              HasSubstr("\nevenpack_job_predicted_steps_total{job=\"j\"} 0\n"));
}

TEST(JobSeriesTest, LateRanksAreNamedByTheirPlace) {
  const std::string text = TextOf(testing::FilledJob("j"));
  const std::string labels = "{job=\"j\",dp_rank=\"3\",cp_rank=\"1\"} ";
  EXPECT_THAT(text, HasSubstr("\nevenpack_job_late_rank_steps" + labels + "40\n"));
  EXPECT_THAT(text, HasSubstr("\nevenpack_job_late_rank_seconds" + labels + "0.125\n"));
}

TEST(JobSeriesTest, NoJobExceedsTheBudget) {
  JobFigures job = JobWithStreams(1000);
  const JobFigures filled = testing::FilledJob("j");
  job.prediction = filled.prediction;
  job.excess = filled.excess;
  job.excess.late_ranks.resize(LateRankFigures::kMost);
  for (uint32_t i = 0; i < LateRankFigures::kMost; ++i) {
    job.excess.late_ranks[i].dp_rank = i;
  }
  job.calibration = filled.calibration;
  job.queues.assign(1000, {1, 2, 3});
  job.subscribers = 1000;
  job.producers = 1000;
  const size_t series = CountSeries(TextOf(job));
  EXPECT_LE(series, kMaxSeriesPerJob);
  // The budget is no looser than it needs to be.
  EXPECT_GT(series, kMaxSeriesPerJob * 9 / 10);
}

TEST(JobSeriesTest, SubscribersAddNoSeries) {
  JobFigures job = testing::FilledJob("j");
  job.subscribers = 1;
  const size_t of_one = CountSeries(TextOf(job));
  job.subscribers = 1000;
  EXPECT_EQ(CountSeries(TextOf(job)), of_one);
}

}  // namespace
}  // namespace evenpack
