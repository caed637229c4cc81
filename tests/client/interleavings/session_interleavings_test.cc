// What producers, trainers, a plan agent and their servers say to each other, in any
// order in which it may arrive.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/runtime/log.h"
#include "tests/client/interleavings/journal.h"
#include "tests/client/interleavings/network.h"
#include "tests/client/interleavings/producers.h"
#include "tests/client/interleavings/server_pair.h"
#include "tests/client/interleavings/trainers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::evenpack::testing::ClientProcess;
using ::evenpack::testing::Dice;
using ::evenpack::testing::Journal;
using ::evenpack::testing::MakeSpec;
using ::evenpack::testing::Network;
using ::evenpack::testing::Producers;
using ::evenpack::testing::ServerPair;
using ::evenpack::testing::Trainers;

struct Terms {
  // Something goes wrong once in so many times.
  uint32_t peace = 0;
  uint32_t streams = 1;
  // Of all streams together.
  uint64_t documents = 150;
  bool reshapes = false;
  bool agent = false;
};

JobSpec DrawSpec(const Terms& terms, Dice& dice) {
  JobSpec spec =
      MakeSpec(dice.Coin() ? PolicyKind::kOriginal : PolicyKind::kWlb, 4, 100);
  spec.data_parallel = 2;
  spec.context_parallel = 2;
  spec.max_steps_ahead = 1 + dice.Draw(4);
  spec.max_buffered_tokens = 400;
  if (terms.streams == 1) return spec;
  StreamSpec other;
  other.name = "b";
  other.weight = 1 + dice.Draw(2);
  spec.streams.push_back(other);
  if (dice.Coin()) spec.merge = MergeMode::kArrival;
  return spec;
}

class History {
 public:
  History(uint64_t seed, const Terms& terms) : dice_(seed), terms_(terms) {
    const JobSpec spec = DrawSpec(terms_, dice_);
    servers_.Create(spec);
    if (terms_.agent) servers_.StartAgent();
    trainers_.emplace(network_, servers_, dice_, journal_);
    Producers::Terms of_producers{
        ServerPair::kJob, {}, terms_.documents / terms_.streams};
    for (const StreamSpec& stream : spec.streams) {
      of_producers.streams.push_back(stream.name);
    }
    producers_.emplace(network_, servers_.clients_clock(), dice_, journal_,
                       of_producers);
  }

  // One thing that happens, most of them what is due anyway.
  void Happen() {
    if (dice_.Draw(terms_.peace) == 0) return GoWrong();
    switch (dice_.Draw(15)) {
      case 0:
      case 1:
      case 2:
        trainers_->StepOne();
        return;
      case 3:
        trainers_->MarkOne();
        return;
      case 4:
        producers_->StepOne();
        return;
      case 5:
        dice_.OneOf(processes_)->sleeper().Wake();
        return;
      default:
        network_.StepOne();
    }
  }

  // All that is due, round by round, until nobody has anything to do any more, or for
  // so many rounds. Nothing goes wrong meanwhile.
  bool CalmDown(int rounds) {
    int idle = 0;
    for (int round = 0; round < rounds && idle < 400; ++round) {
      if (trainers_->AreClosed() && producers_->HaveEnded()) return true;
      if (::testing::Test::HasFailure()) return false;
      idle = Round() ? 0 : idle + 1;
      if (idle > 0) servers_.Advance();
      // Threads of the servers' may have yet to come to it.
      if (idle > 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  void ExpectAllGetThrough() {
    trainers_->BeginClosing();
    constexpr int kMostRounds = 2'000;
    if (!CalmDown(kMostRounds)) ADD_FAILURE() << "somebody waits for ever";
    if (::testing::Test::HasFailure()) return;
    trainers_->ExpectAllOnce(terms_.streams, terms_.documents / terms_.streams);
    trainers_->EndAll();
    producers_->EndAll();
    servers_.ExpectEmpty();
  }
  // Returns once clients and servers wait for the test.
  void Rest() {
    servers_.AwaitCommits();
    processes_ = trainers_->processes();
    for (ClientProcess* producer : producers_->processes()) {
      processes_.push_back(producer);
    }
    if (ClientProcess* const agent = servers_.agent_process(); agent != nullptr) {
      processes_.push_back(agent);
    }
    for (ClientProcess* const process : processes_) process->Rest();
  }
  void Print() const {
    journal_.Print();
    trainers_->Print();
    producers_->Print();
  }

 private:
  void GoWrong() {
    switch (dice_.Draw(11)) {
      case 0:
        return trainers_->Restart();
      case 1:
        return trainers_->TakeOver();
      case 2:
      case 3:
        return network_.CutOne();
      case 4:
        if (dice_.Coin()) servers_.RestartOne();
        return;
      case 5:
      case 6:
        return servers_.MoveJob();
      case 7:
        return servers_.Disturb();
      case 8:
        return servers_.TurnCutOff();
      case 9:
        if (terms_.reshapes && !trainers_->was_drained()) servers_.Reshape();
        return;
      case 10:
        return producers_->Restart();
      default:
        servers_.Advance();
        servers_.MakeWhole();
    }
  }

  bool Round() {
    Rest();
    bool did = servers_.MakeWhole();
    constexpr int kMostSteps = 50;
    for (int i = 0; i < kMostSteps && network_.StepAll(); ++i) {
      did = true;
      Rest();
    }
    for (ClientProcess* const process : processes_) did |= process->sleeper().Wake();
    did |= producers_->StepAll();
    did |= trainers_->StepAll();
    did |= trainers_->MarkAll();
    servers_.AwaitRest();
    return did;
  }

  Journal journal_;
  Dice dice_;
  const Terms terms_;
  Network network_{dice_, journal_};
  ServerPair servers_{network_, dice_, journal_};
  std::optional<Trainers> trainers_;
  std::optional<Producers> producers_;
  std::vector<ClientProcess*> processes_;
};

Terms TermsOf(uint64_t seed) {
  constexpr uint32_t kPeace[] = {12, 25, 60};
  Terms terms;
  terms.reshapes = seed % 2 == 1;
  terms.peace = kPeace[seed / 2 % 3];
  terms.streams = seed / 6 % 2 == 0 ? 1 : 2;
  terms.agent = seed / 12 % 2 == 1;
  return terms;
}

TEST(SessionInterleavingsTest, InWhateverOrderTheyHearOfItAllGetThroughOnce) {
  StartLog(LogLevel::kError, LogFormat::kText);
  constexpr uint64_t kHistories = 24;
  constexpr int kEvents = 1200;
  constexpr int kEventsBetweenPauses = 150;
  for (uint64_t seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed, TermsOf(seed));
    for (int i = 0; i < kEvents && !::testing::Test::HasFailure(); ++i) {
      history.Rest();
      history.Happen();
      if (i % kEventsBetweenPauses == 0) history.CalmDown(/*rounds=*/2);
    }
    history.ExpectAllGetThrough();
    if (!::testing::Test::HasFailure()) continue;
    history.Print();
    return;
  }
}

}  // namespace
}  // namespace evenpack
