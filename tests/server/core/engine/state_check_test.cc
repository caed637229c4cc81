#include "server/core/engine/state_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/core/engine/reconfigure.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

template <typename State>
auto& Record(State& state, size_t index) {
  return std::get<StepRecord>(state.history[index]);
}

// Queues, left-overs, buffered documents, an update and steps around it.
JobState ExampleState() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.policy.queue_thresholds = {375, 750};
  TestJob job(spec);
  EXPECT_THAT(job.Ingest(testing::SkewedLengths(58, 1200, 1000)), IsOk());
  for (int i = 0; i < 4; ++i) EXPECT_THAT(job.Do(FormStep{}), IsOk());
  spec.max_length = 1200;
  EXPECT_THAT(job.Do(UpdateJob{4, spec}), IsOk());
  for (int i = 0; i < 4; ++i) EXPECT_THAT(job.Do(FormStep{}), IsOk());
  // What the damages below need; another seed may not give it.
  EXPECT_FALSE(job.state().waiting.queues[0].empty());
  EXPECT_FALSE(Record(job.state(), 8).admitted[0].empty());
  return job.state();
}

JobState Planned() {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 2, 1000);
  spec.policy.window_batches = 3;
  TestJob job(spec);
  EXPECT_THAT(job.Ingest(testing::SkewedLengths(52, 300, 1000)), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(job.state().waiting.planned.size(), 2U);
  return job.state();
}

void EditQueue(JobState& state, const std::function<void(Document&)>& edit) {
  std::vector<Document> documents = state.waiting.queues[0].PopFront(1);
  edit(documents[0]);
  state.waiting.queues[0].PushFront(documents);
}

TEST(CheckStateTest, StatesOfTheEngineAreConsistent) {
  EXPECT_THAT(CheckState(JobState()), IsOk());
  EXPECT_THAT(CheckState(Planned()), IsOk());
  JobState state = ExampleState();
  EXPECT_THAT(CheckState(state), IsOk());
  for (uint64_t step = 8; step-- > 0;) {
    Withdraw(step, state);
    EXPECT_THAT(CheckState(state), IsOk()) << step;
  }
}

struct Damage {
  const char* part;
  std::function<void(JobState&)> apply;
};

void ExpectFound(const JobState& state, const std::vector<Damage>& damages) {
  for (size_t i = 0; i < damages.size(); ++i) {
    JobState damaged = state;
    damages[i].apply(damaged);
    EXPECT_THAT(CheckState(damaged),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(damages[i].part)))
        << "damage " << i;
  }
}

TEST(CheckStateTest, DamageOutsideTheHistoryIsFound) {
  ExpectFound(
      ExampleState(),
      {{"created", [](JobState& s) { s.created = false; }},
       {"window: 0", [](JobState& s) { s.spec.window = 0; }},
       {"counter", [](JobState& s) { s.epoch = ~uint64_t{0}; }},
       {"counter", [](JobState& s) { s.position.next_step = ~uint64_t{0}; }},
       {"counter", [](JobState& s) { s.position.batches_admitted = ~uint64_t{0}; }},
       {"counter", [](JobState& s) { s.position.documents_admitted = ~uint64_t{0}; }},
       {"counter", [](JobState& s) { s.streams[0].next_sequence = ~uint64_t{0}; }},
       {"streams", [](JobState& s) { s.streams.clear(); }},
       {"stream 'a'", [](JobState& s) { s.streams[0].next_sequence += 1; }},
       {"stream 'a'", [](JobState& s) { s.streams[0].next_sequence = 3; }},
       {"stream 'a'",
        [](JobState& s) {
          s.streams[0].skipped = {{5, 5}};
        }},
       {"stream 'a'",
        [](JobState& s) {
          s.streams[0].skipped = {{0, 1'000'000}};
        }},
       {"stream 'a'",
        [](JobState& s) { s.streams[0].buffer.PushBack(testing::MakeDocuments({5})); }},
       {"durable", [](JobState& s) { s.durable.clear(); }},
       {"durable", [](JobState& s) { s.durable[0] = 99; }},
       {"durable", [](JobState& s) { s.checkpoints.clear(); }},
       {"durable", [](JobState& s) { s.checkpoints = {5}; }},
       {"merge", [](JobState& s) { s.position.merge.credit.clear(); }},
       {"merge",
        [](JobState& s) {
          s.position.merge.credit[0] = std::numeric_limits<int64_t>::max();
        }},
       {"merge", [](JobState& s) { s.position.merge.out[0] = 2; }},
       {"waiting", [](JobState& s) { s.waiting.queues.pop_back(); }},
       {"waiting",
        [](JobState& s) { EditQueue(s, [](Document& d) { d.stream = 4'000'000; }); }},
       {"waiting",
        [](JobState& s) { EditQueue(s, [](Document& d) { d.length = 0; }); }},
       {"waiting",
        [](JobState& s) {
          EditQueue(s, [](Document& d) { d.length = d.document_length = 1201; });
        }},
       {"waiting", [](JobState& s) { EditQueue(s, [](Document& d) { ++d.offset; }); }},
       {"waiting",
        [](JobState& s) { EditQueue(s, [](Document& d) { d.loss_tokens = 9999; }); }},
       {"waiting",
        [](JobState& s) { EditQueue(s, [](Document& d) { d.batch = 1000; }); }},
       {"waiting", [](JobState& s) { s.waiting.planned.resize(1); }}});
}

TEST(CheckStateTest, DamagedPlansAreFound) {
  ExpectFound(
      Planned(),
      {{"waiting", [](JobState& s) { s.waiting.planned[1].micro_batches.pop_back(); }},
       {"waiting",
        [](JobState& s) { s.waiting.planned[0].kind = static_cast<StepKind>(77); }},
       {"waiting",
        [](JobState& s) {
          s.waiting.planned[0].micro_batches[0].sharding = Sharding::kAdaptive;
        }},
       {"waiting",
        [](JobState& s) {
          s.waiting.planned[0].micro_batches[0].sharding = Sharding::kHybrid;
        }},
       {"waiting",
        [](JobState& s) {
          s.waiting.planned[0].micro_batches[0].sharding = Sharding::kPerSequence;
        }},
       {"waiting", [](JobState& s) { ++s.waiting.planned[0].micro_batches[0].tokens; }},
       {"waiting",
        [](JobState& s) { s.waiting.planned[0].micro_batches[0].padding += 4; }}});
}

TEST(CheckStateTest, DocumentsBeyondALayoutsBoundsAreFound) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.layout.max_documents = 2;
  spec.layout.shape_ladder = {64, 128};
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({60, 60, 60, 60, 128}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(CheckState(job.state()), IsOk());
  ExpectFound(job.state(),
              {{"history[0]", [](JobState& s) { s.spec.layout.max_documents = 1; }},
               {"history[0]", [](JobState& s) { s.spec.layout.shape_ladder = {130}; }},
               {"stream 'a'", [](JobState& s) {
                  s.spec.layout.shape_ladder = {64, 120, 128};
                  s.spec.max_length = 127;
                }}});
}

TEST(CheckStateTest, AHistoryThatCannotBeUndoneIsFound) {
  ExpectFound(
      ExampleState(),
      {{"history[8]", [](JobState& s) { Record(s, 8).step.index = 9; }},
       {"history[8]", [](JobState& s) { Record(s, 8).before.next_step = 9; }},
       {"history[8]", [](JobState& s) { Record(s, 8).step.digest.low ^= 1; }},
       {"history[7]", [](JobState& s) { Record(s, 8).before.digest.low ^= 1; }},
       {"history[8]", [](JobState& s) { Record(s, 8).step.micro_batches.clear(); }},
       {"history[8]", [](JobState& s) { Record(s, 8).admitted.emplace_back(); }},
       {"history[8]", [](JobState& s) { Record(s, 8).admitted[0][0].stream = 1; }},
       {"history[8]", [](JobState& s) { ++Record(s, 8).admitted[0][0].sequence; }},
       {"history[8]", [](JobState& s) { Record(s, 8).admitted[0].pop_back(); }},
       {"history[7]", [](JobState& s) { Record(s, 8).admitted[0].clear(); }},
       {"history[8]", [](JobState& s) { Record(s, 8).entered.pop_back(); }},
       {"history[8]", [](JobState& s) { Record(s, 8).entered[0] = 1000; }},
       {"history[8]", [](JobState& s) { Record(s, 8).left_over_added = 1000; }},
       {"history[8]", [](JobState& s) { Record(s, 8).left_over_positions = {0}; }},
       {"history[8]",
        [](JobState& s) { Record(s, 8).before.batches_admitted = 1'000'000; }},
       {"history[8]",
        [](JobState& s) { Record(s, 8).before.documents_admitted = 1'000'000; }},
       {"history[4]",
        [](JobState& s) { std::get<UpdateRecord>(s.history[4]).spec_before = {}; }},
       {"history[4]",
        [](JobState& s) {
          std::get<UpdateRecord>(s.history[4]).waiting_before.queues.clear();
        }},
       {"history[4]",
        [](JobState& s) { std::get<UpdateRecord>(s.history[4]).from_step = 3; }},
       {"history[1]", [](JobState& s) { s.history.erase(s.history.begin() + 2); }},
       {"oldest checkpoint", [](JobState& s) { s.history.pop_front(); }},
       {"oldest checkpoint", [](JobState& s) { s.history.clear(); }}});
}

// What waits was admitted before each of the steps that it is said to have waited
// through, or else a checkpoint of then could not be restored.
TEST(CheckStateTest, APolicysLaterVersionIsNoDamage) {
  JobState state = TestJob(MakeSpec(PolicyKind::kWlb, 2, 100)).state();
  JobState updated = state;
  state.spec.policy.version = kPolicyVersion + 1;
  UpdateRecord record;
  record.spec_before = state.spec;
  updated.history.emplace_back(record);
  for (const JobState& newer : {state, updated}) {
    EXPECT_THAT(CheckState(newer),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(absl::StrCat("state: policy.version: ",
                                                kPolicyVersion + 1, " is newer"))));
  }
}

TEST(CheckStateTest, WhatWaitedBeforeItWasAdmittedIsFound) {
  const auto last = [](const JobState& s) { return s.position.batches_admitted - 1; };
  ExpectFound(
      ExampleState(),
      {{"history",
        [&](JobState& s) { EditQueue(s, [&](Document& d) { d.batch = last(s); }); }},
       {"history", [&](JobState& s) {
          EditQueue(s,
                    [&](Document& d) { d.order = s.position.documents_admitted - 1; });
        }}});
  ExpectFound(Planned(),
              {{"history[0]", [](JobState& s) { Record(s, 0).from_plan = true; }}});
}

}  // namespace
}  // namespace evenpack
