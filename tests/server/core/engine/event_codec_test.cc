#include "server/core/engine/event_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/state_codec.h"
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

// Every kind of event, with something in every field that the seed lets there be.
std::vector<Event> History(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&random](uint32_t least, uint32_t most) {
    return testing::Draw(random, least, most);
  };
  JobSpec spec = MakeSpec(static_cast<PolicyKind>(seed % 3), 2, draw(20, 90));
  spec.streams = {{"a", 2}, {"b", 1}};
  spec.merge = static_cast<MergeMode>(seed % 2);
  spec.policy.queue_thresholds = {draw(5, 20), draw(30, 60)};
  spec.policy.window_batches = draw(1, 4);
  spec.policy.split_documents = draw(0, 1) == 1;
  spec.split_overlong = true;
  spec.context_parallel = 2;
  spec.layout.kind = Layout::kTeThd;
  spec.layout.shape_ladder = {4, 16, spec.max_length / 4 * 4};
  spec.max_delay = 20;
  spec.description = std::string("\0spec", 5);
  TestJob job(spec);
  for (int round = 0; round < 25; ++round) {
    const size_t stream = draw(0, 1);
    Ingest command;
    command.stream = spec.streams[stream].name;
    command.first_sequence = job.state().streams[stream].next_sequence;
    command.lengths = testing::SkewedLengths(random(), draw(0, 40), spec.max_length);
    if (draw(0, 2) == 0) command.ids.assign(command.lengths.size(), random());
    if (draw(0, 2) == 0) command.loss_tokens.assign(command.lengths.size(), draw(0, 1));
    if (draw(0, 2) == 0) command.sources.assign(command.lengths.size(), draw(0, 9));
    EXPECT_THAT(job.Do(command), IsOk());
    job.FormAll().IgnoreError();
    if (round % 8 == 7 && job.state().position.next_step > 0) {
      const Step& last = job.emitted().back().step;
      EXPECT_THAT(job.Do(Acknowledge{0, last.index, last.epoch}), IsOk());
    }
    if (round == 12) {
      EXPECT_THAT(job.Do(UpdateJob{job.state().position.next_step, spec}), IsOk());
    }
    if (round == 18) {
      EXPECT_THAT(job.Do(SkipDocuments{job.state().position.next_step, {{"b", 90, 9}}}),
                  IsOk());
    }
  }
  for (const StreamSpec& stream : spec.streams) {
    EXPECT_THAT(job.End(stream.name), IsOk());
  }
  job.FormAll().IgnoreError();
  return job.journal();
}

TEST(EventCodecTest, DecodedEventsReplayToTheSameState) {
  std::vector<size_t> kinds(std::variant_size_v<Event>);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    JobState state;
    JobState replayed;
    for (const Event& event : History(seed)) {
      ++kinds[event.index()];
      const std::string bytes = EncodeEvent(event);
      absl::StatusOr<Event> decoded = DecodeEvent(bytes);
      ASSERT_THAT(decoded, IsOk()) << event.index();
      ASSERT_EQ(EncodeEvent(*decoded), bytes);
      Apply(event, state);
      Apply(*std::move(decoded), replayed);
      ASSERT_EQ(replayed, state);
    }
    ASSERT_EQ(EncodeState(replayed), EncodeState(state));
    const Event restored = JobRestored{EncodeState(state)};
    ++kinds[restored.index()];
    JobState anew;
    Apply(DecodeEvent(EncodeEvent(restored)).value(), anew);
    ASSERT_EQ(anew, state);
  }
  EXPECT_THAT(kinds, ::testing::Each(::testing::Gt(20U)));
}

TEST(EventCodecTest, AcceptedDocumentsComeBackWhateverTheirColumns) {
  std::vector<Document> documents = testing::MakeDocuments({5, 6, 7});
  for (Document& document : documents) {
    document.stream = 3;
    document.sequence += 100;
    document.id += 100;
    document.order = 0;
  }
  const auto expect = [&documents](size_t bytes) {
    const std::string encoded = EncodeEvent(DocumentsAccepted{3, documents});
    EXPECT_EQ(encoded.size(), bytes);
    const absl::StatusOr<Event> decoded = DecodeEvent(encoded);
    ASSERT_THAT(decoded, IsOk());
    const auto& accepted = std::get<DocumentsAccepted>(*decoded);
    EXPECT_EQ(accepted.stream, 3U);
    EXPECT_EQ(accepted.documents, documents);
  };
  // Version, kind, stream, sequence, order, whether it rises, four lengths; 4 a
  // document.
  const size_t least = 4 + 1 + 4 + 8 + 8 + 1 + 4 * 8 + 3 * 4;
  expect(least);
  for (size_t i = 0; i < 3; ++i) documents[i].order = 7 + i;
  expect(least);
  documents[1].id = 9;
  expect(least + 3 * 8);
  documents[2].loss_tokens = 0;
  expect(least + 3 * 12);
  documents[0].source = 1;
  expect(least + 3 * 16);
  documents.clear();
  expect(least - 3 * 4);
}

// Whatever happens to the bytes, decoding gives an error or an event that encodes.
TEST(EventCodecTest, DamagedBytesGiveAnErrorOrAnotherEvent) {
  std::vector<size_t> seen(std::variant_size_v<Event>);
  for (const Event& event : History(4)) {
    if (++seen[event.index()] > 5) continue;
    const std::string bytes = EncodeEvent(event);
    // A job's cost curves make its spec long.
    const size_t stride = bytes.size() > 4000 ? 61 : 1;
    for (size_t size = 0; size < bytes.size(); size += stride) {
      EXPECT_THAT(DecodeEvent(std::string_view(bytes).substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("event: ")));
    }
    EXPECT_THAT(DecodeEvent(bytes + "x"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("event: ")));
    for (size_t i = 0; i < bytes.size(); i += stride) {
      for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        const absl::StatusOr<Event> decoded = DecodeEvent(damaged);
        if (decoded.ok()) {
          EXPECT_THAT(DecodeEvent(EncodeEvent(*decoded)), IsOk());
        } else {
          // One flip makes it a version that is read. Of the policy's version it is one
          // that no checksum is there to tell from a later program's.
          const bool other_version =
              (i < 4 && damaged[0] != kOldestEventFormatVersion + 1) ||
              absl::StrContains(decoded.status().message(), "policy.version: ");
          EXPECT_EQ(decoded.status().code(), other_version
                                                 ? absl::StatusCode::kFailedPrecondition
                                                 : absl::StatusCode::kDataLoss);
        }
      }
    }
  }
}

TEST(EventCodecTest, AnotherVersionIsRefused) {
  std::string bytes = EncodeEvent(StreamEnded{1});
  for (const char version : {char{2}, char{7}}) {
    bytes[0] = version;
    EXPECT_THAT(DecodeEvent(bytes),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         absl::StrCat("event: format version ", int{version},
                                      " is not accepted; accepted: 3 to 6")));
  }
}

// What a program would write whose policies have another version.
JobSpec NewerSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.policy.version = kPolicyVersion + 1;
  return spec;
}

TEST(EventCodecTest, APolicysLaterVersionIsNoDamage) {
  JobState state = TestJob(MakeSpec(PolicyKind::kWlb, 2, 100)).state();
  state.spec = NewerSpec();
  JobUpdated updated;
  updated.spec = NewerSpec();
  for (const Event& event : {Event(JobCreated{NewerSpec()}), Event(updated),
                             Event(JobRestored{EncodeState(state)})}) {
    EXPECT_THAT(
        DecodeEvent(EncodeEvent(event)),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 HasSubstr(absl::StrCat("policy.version: ", kPolicyVersion + 1,
                                        " is newer than this program; accepted: up to ",
                                        kPolicyVersion, ", or start"))));
  }
  // One that is cut is damaged, whatever it names.
  std::string cut = EncodeEvent(JobCreated{NewerSpec()});
  cut.pop_back();
  EXPECT_THAT(DecodeEvent(cut),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of no event")));
}

TEST(EventCodecTest, VersionsBeforeAreReadWithWhatTheyLackAsAtFirst) {
  StepDecided decided;
  decided.search_operations = 9;
  decided.mean_delay = 7;
  decided.novelty = 8;
  std::string bytes = EncodeEvent(decided);
  bytes.resize(bytes.size() - 8);
  bytes[0] = 4;
  absl::StatusOr<Event> read = DecodeEvent(bytes);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(std::get<StepDecided>(*read).mean_delay, 7U);
  EXPECT_EQ(std::get<StepDecided>(*read).novelty, 0U);
  bytes.resize(bytes.size() - 8);
  bytes[0] = 3;
  read = DecodeEvent(bytes);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(std::get<StepDecided>(*read).search_operations, 9U);
  EXPECT_EQ(std::get<StepDecided>(*read).mean_delay, kMeanDelayAtFirst);
  bytes = EncodeEvent(JobCreated{MakeSpec(PolicyKind::kWlb, 2, 100), 5});
  bytes.resize(bytes.size() - 8);
  bytes[0] = 5;
  read = DecodeEvent(bytes);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(std::get<JobCreated>(*read).lineage, 0U);
}

TEST(EventCodecTest, NumbersThatNoEventHasAreFound) {
  const JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  JobSpec bad_spec = spec;
  bad_spec.window = 0;
  const auto updated = [](const JobSpec& to, std::vector<SkippedRange> skipped) {
    return JobUpdated{1, to, std::move(skipped), true};
  };
  StepDecided bad_kind;
  bad_kind.step.kind = static_cast<StepKind>(3);
  StepDecided bad_sharding;
  bad_sharding.step.micro_batches.resize(1);
  bad_sharding.step.micro_batches[0].sharding = Sharding::kAdaptive;
  StepDecided bad_queues;
  bad_queues.released = {1};
  StepDecided bad_document;
  bad_document.left_over_added.resize(1);
  DocumentsAccepted no_length;
  no_length.documents.resize(1);
  for (const Event& event :
       {Event(JobCreated{bad_spec}), Event(updated(bad_spec, {})),
        Event(updated(spec, {{1, {0, 5}}})), Event(updated(spec, {{0, {5, 5}}})),
        Event(bad_kind), Event(bad_sharding), Event(bad_queues), Event(bad_document),
        Event(no_length)}) {
    EXPECT_THAT(DecodeEvent(EncodeEvent(event)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of no event")));
  }
}

}  // namespace
}  // namespace evenpack
