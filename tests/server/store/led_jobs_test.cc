#include "server/store/led_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PostgresqlJob Job(int64_t id, int64_t epoch = 1, uint64_t records = 1) {
  PostgresqlJob job;
  job.id = id;
  job.epoch = epoch;
  job.records = records;
  return job;
}

TEST(LedJobsTest, WhatIsFoundAnewIsTakenAndWhatIsNotFoundLost) {
  LedJobs led;
  led.Replace({{"b", Job(2)}, {"a", Job(1)}});
  LeadNews news = led.TakeNews();
  EXPECT_THAT(news.taken, ElementsAre("a", "b"));
  EXPECT_THAT(news.lost, IsEmpty());
  led.Replace({{"b", Job(2)}, {"c", Job(3)}});
  news = led.TakeNews();
  EXPECT_THAT(news.taken, ElementsAre("c"));
  EXPECT_THAT(news.lost, ElementsAre("a"));
  led.Replace({{"b", Job(2)}, {"c", Job(3)}});
  news = led.TakeNews();
  EXPECT_THAT(news.taken, IsEmpty());
  EXPECT_THAT(news.lost, IsEmpty());
}

TEST(LedJobsTest, AJobThatWentAndCameBackIsLostAndTaken) {
  struct Case {
    const char* what;
    PostgresqlJob now;
  };
  for (const Case& each :
       {Case{"another led it", Job(1, 3, 5)}, Case{"it was made anew", Job(9, 1, 5)},
        Case{"the database went back", Job(1, 1, 4)}}) {
    LedJobs led;
    led.Set("a", Job(1, 1, 5));
    led.Replace({{"a", each.now}});
    EXPECT_EQ(led.Writable("a"), nullptr) << each.what;
    const LeadNews news = led.TakeNews();
    EXPECT_THAT(news.lost, ElementsAre("a")) << each.what;
    EXPECT_THAT(news.taken, ElementsAre("a")) << each.what;
    EXPECT_EQ(led.Writable("a"), nullptr) << each.what;
    EXPECT_TRUE(led.SetLoaded("a", each.now.id, each.now.epoch));
    EXPECT_EQ(led.Writable("a")->records, each.now.records) << each.what;
  }
}

TEST(LedJobsTest, RecordsThatCameWithACommitInDoubtAreNoNews) {
  LedJobs led;
  led.Set("a", Job(1, 1, 5));
  led.Replace({{"a", Job(1, 1, 6)}});
  EXPECT_THAT(led.TakeNews().lost, IsEmpty());
  EXPECT_EQ(led.Writable("a")->records, 6U);
}

TEST(LedJobsTest, OneThatIsLostBeforeItIsToldOfIsNoNews) {
  LedJobs led;
  led.Replace({{"a", Job(1)}});
  led.Replace({});
  const LeadNews news = led.TakeNews();
  EXPECT_THAT(news.taken, IsEmpty());
  EXPECT_THAT(news.lost, IsEmpty());
}

TEST(LedJobsTest, OnlyWhatWasReadInItsEpochMayBeWritten) {
  LedJobs led;
  led.Replace({{"a", Job(1, 2)}});
  EXPECT_EQ(led.Writable("a"), nullptr);
  EXPECT_FALSE(led.SetLoaded("a", 1, 1));
  EXPECT_FALSE(led.SetLoaded("a", 2, 2));
  EXPECT_FALSE(led.SetLoaded("b", 1, 2));
  EXPECT_EQ(led.Writable("a"), nullptr);
  EXPECT_TRUE(led.SetLoaded("a", 1, 2));
  EXPECT_EQ(led.Writable("a")->id, 1);
}

TEST(LedJobsTest, ItsOwnDoingIsNoNews) {
  LedJobs led;
  led.Set("a", Job(1));
  led.Set("b", Job(2));
  led.Remove("a");
  led.Replace({{"b", Job(2)}});
  const LeadNews news = led.TakeNews();
  EXPECT_THAT(news.taken, IsEmpty());
  EXPECT_THAT(news.lost, IsEmpty());
}

TEST(LedJobsTest, WhatACommitInDoubtDidIsNoNewsOnceItIsKnown) {
  LedJobs led;
  led.Set("removed", Job(1));
  led.Replace({{"made", Job(2)}});
  led.Settle("removed", std::nullopt);
  led.Settle("made", Job(2));
  // One that it made and that was taken away since.
  led.Settle("gone", Job(3));
  const LeadNews news = led.TakeNews();
  EXPECT_THAT(news.taken, IsEmpty());
  EXPECT_THAT(news.lost, ElementsAre("gone"));
  EXPECT_NE(led.Writable("made"), nullptr);
}

TEST(LedJobsTest, AsksForTheNewestAndForAFewAtOnce) {
  LedJobs led;
  for (int i = 0; i < 20; ++i) led.Set(absl::StrCat("job", i), Job(100 - i));
  LeadNews news;
  led.Ask(2, news);
  EXPECT_THAT(news.to_give, ElementsAre("job0", "job1"));
  // They are under way.
  led.Ask(2, news);
  EXPECT_EQ(news.to_give.size(), 2U);
  led.Remove("job0");
  EXPECT_EQ(led.asked(), 1U);
  news = {};
  led.Ask(3, news);
  EXPECT_THAT(news.to_give, ElementsAre("job2", "job3"));
  led.Keep("job1");
  news = {};
  led.Ask(3, news);
  EXPECT_THAT(news.to_give, ElementsAre("job1"));
  news = {};
  led.Ask(20, news);
  EXPECT_EQ(led.asked(), LedJobs::kMostAsked);
  led.Ask(0, news);
  EXPECT_EQ(led.asked(), 0U);
  led.Ask(1, news);
  led.Replace({});
  EXPECT_EQ(led.asked(), 0U);
  news = {};
  led.Ask(5, news);
  EXPECT_THAT(news.to_give, IsEmpty());
}

TEST(LedJobsTest, AsksFirstForWhatCannotBeReadForAsLongAsItLeadsIt) {
  LedJobs led;
  led.Replace({{"a", Job(1)}, {"b", Job(2)}, {"c", Job(3)}});
  led.SetUnreadable("a");
  led.SetUnreadable("none");
  EXPECT_EQ(led.unreadable(), 1);
  led.Replace({{"a", Job(1)}, {"b", Job(2)}, {"c", Job(3)}});
  EXPECT_EQ(led.unreadable(), 1);
  LeadNews news;
  led.Ask(2, news);
  EXPECT_THAT(news.to_give, ElementsAre("a", "c"));
  // Another may have made something of it.
  led.Replace({{"a", Job(1, 2)}});
  EXPECT_EQ(led.unreadable(), 0);
}

}  // namespace
}  // namespace evenpack
