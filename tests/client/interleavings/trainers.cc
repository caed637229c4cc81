#include "tests/client/interleavings/trainers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/error_details.h"
#include "server/control/job.h"
#include "server/runtime/status_detail.h"
#include "tests/client/interleavings/producers.h"

namespace evenpack::testing {

using client::ConsumerOptions;
using client::RankStep;

struct Trainers::Rank {
  void GoBackFrom(const std::optional<TrainedUpTo>& at) {
    goes_back = true;
    back_from = at;
  }

  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;
  bool marks = false;
  bool at_agent = false;
  std::unique_ptr<TrainerProcess> main;
  // That it was to take the place of, and which don't know yet.
  std::vector<std::unique_ptr<TrainerProcess>> older;
  std::map<uint64_t, Record> records;
  // It is to be opened behind the last step before this that still stands.
  bool goes_back = false;
  std::optional<TrainedUpTo> back_from;
  // There was a time when two processes were this rank, and when one of them was so far
  // behind that its steps were let go.
  bool was_two = false;
  bool lagged = false;
  bool closed = false;
};

Trainers::Trainers(Network& network, ServerPair& servers, Dice& dice, Journal& journal)
    : network_(network), servers_(servers), dice_(dice), journal_(journal) {
  for (auto& rank : ranks_) {
    rank = std::make_unique<Rank>();
    rank->at_agent = servers_.has_agent() && dice_.Draw(5) != 0;
  }
  ranks_[0]->marks = ranks_[1]->marks = true;
  ranks_[1]->dp_rank = 1;
  ranks_[2]->cp_rank = 1;
  for (const auto& rank : ranks_) Open(*rank);
}

Trainers::~Trainers() = default;

void Trainers::Open(Rank& rank) {
  const std::optional<TrainedUpTo>& saved = saved_[rank.dp_rank];
  if (saved.has_value()) return OpenAt(rank, saved);
  OpenAt(rank, dice_.Coin() ? std::optional(TrainedUpTo()) : std::nullopt);
}

void Trainers::OpenAt(Rank& rank, const std::optional<TrainedUpTo>& at) {
  ConsumerOptions options;
  options.job = ServerPair::kJob;
  options.dp_rank = rank.dp_rank;
  options.cp_rank = rank.cp_rank;
  options.subscriber = "trainer";
  options.sends_durable = rank.marks;
  options.credits = 1 + dice_.Draw(3);
  options.max_buffered_steps = 1 + dice_.Draw(7);
  options.follow_epochs = dice_.Coin();
  options.report_interval = std::chrono::milliseconds(0);
  const std::string name = absl::StrCat(
      "dp", rank.dp_rank, rank.cp_rank.has_value() ? "cp1" : "", "/", started_++);
  journal_.Note("start ", name, " at ", at.has_value() ? absl::StrCat(at->next) : "?");
  const std::vector<std::string> addresses =
      rank.at_agent ? std::vector{absl::StrCat(ServerPair::kAgentAddress)}
                    : std::vector<std::string>{"0", "1"};
  rank.main = std::make_unique<TrainerProcess>(network_, name, servers_.clients_clock(),
                                               addresses, options, at);
  if (!at.has_value() || at->next == 0 || at->bare) return;
  Record& before = rank.records[at->next - 1];
  if (before.digest != at->digest || before.epoch != at->epoch) {
    before = Record{at->digest, at->epoch, {}};
  }
}

void Trainers::Restart() {
  Rank& rank = *dice_.OneOf(ranks_);
  if (rank.main == nullptr || rank.closed) return;
  journal_.Note("kill ", rank.main->name());
  rank.main.reset();
  Open(rank);
}

void Trainers::TakeOver() {
  Rank& rank = *dice_.OneOf(ranks_);
  if (rank.main == nullptr || rank.closed || rank.older.size() > 1) return;
  journal_.Note("take over from ", rank.main->name());
  rank.older.push_back(std::move(rank.main));
  rank.was_two = true;
  Open(rank);
}

bool Trainers::StepOne() { return Step(*dice_.OneOf(ranks_)); }

bool Trainers::StepAll() {
  bool did = false;
  for (const auto& rank : ranks_) did |= Step(*rank);
  return did;
}

bool Trainers::Step(Rank& rank) {
  bool did = rank.goes_back && GoBack(rank);
  for (const auto& older : rank.older) did |= Step(rank, *older);
  std::erase_if(rank.older, [](const auto& older) { return older->is_over; });
  if (rank.main != nullptr) did |= Step(rank, *rank.main);
  if (rank.main != nullptr && rank.main->is_over && !rank.closed) Replace(rank);
  return did;
}

void Trainers::Replace(Rank& rank) {
  const std::optional<TrainedUpTo> at = rank.main->at();
  rank.main = nullptr;
  if (rank.goes_back) return;
  if (!rank.older.empty()) {
    rank.main = std::move(rank.older.back());
    rank.older.pop_back();
    return;
  }
  // The one that took its claim has ended, too, for another reason.
  EXPECT_TRUE(rank.lagged || servers_.was_reshaped())
      << "each process of a rank lost its claim";
  rank.GoBackFrom(servers_.was_reshaped() ? at : saved_[rank.dp_rank]);
}

bool Trainers::Step(Rank& rank, TrainerProcess& process) {
  if (process.is_over) return false;
  const bool is_less = process.IsDurableLess();
  EXPECT_TRUE(!is_less || servers_.was_reshaped()) << process.name();
  EXPECT_LE(process.consumer().durable_steps(), said_[rank.dp_rank]) << process.name();
  if (process.drained) return closes_ && Close(rank, process);
  const std::optional<TrainerProcess::Answer> answer = process.TakeNext();
  if (!answer.has_value()) return false;
  if (!answer->ok()) {
    TakeEnd(rank, process, answer->status());
  } else if ((*answer)->has_value()) {
    Take(rank, process, ***answer);
  } else {
    journal_.Note(process.name(), " has all");
    process.drained = was_drained_ = true;
    if (process.at().has_value()) steps_ = process.at()->next;
  }
  return true;
}

void Trainers::Take(Rank& rank, TrainerProcess& process, const RankStep& step) {
  journal_.Note(process.name(), " takes ", step.index(), " of epoch ", step.epoch());
  const std::optional<TrainedUpTo>& at = process.at();
  EXPECT_EQ(step.index(), at.has_value() ? at->next : step.index()) << process.name();
  if (at.has_value() && at->next > 0 && !at->bare) {
    EXPECT_EQ(ToHex(step.previous_digest()), ToHex(at->digest)) << process.name();
  }
  process.Trained(step);
  const auto [known, is_new] =
      digests_.emplace(std::pair(step.index(), step.epoch()), step.digest());
  EXPECT_EQ(ToHex(known->second), ToHex(step.digest())) << step.index();
  Record record{step.digest(), step.epoch(), {}};
  for (const auto& view : step.micro_batches()) {
    for (const Document& document : view.documents()) {
      EXPECT_EQ(document.length, LengthOf(document.sequence));
      record.documents.emplace_back(document.stream, document.sequence);
    }
  }
  Record& kept = rank.records[step.index()];
  if (kept.epoch <= record.epoch) kept = std::move(record);
  process.client().Rest();
}

void Trainers::TakeEnd(Rank& rank, TrainerProcess& process,
                       const absl::Status& status) {
  journal_.Note(process.name(), " ended: ", status.ToString());
  process.is_over = true;
  const std::string reason = client::DetailsOf(status).reason;
  if (reason == "CLAIM_TAKEN") {
    EXPECT_TRUE(rank.was_two) << process.name() << ": " << status;
    return;
  }
  const bool is_main = rank.main.get() == &process;
  const std::optional<TrainedUpTo>& saved = saved_[rank.dp_rank];
  if (reason == "STEP_LET_GO" && rank.was_two) {
    rank.lagged = true;
    if (is_main) rank.GoBackFrom(saved);
    return;
  }
  const bool is_withdrawn = reason == "EPOCH_ENDED" || absl::IsDataLoss(status);
  EXPECT_TRUE(is_withdrawn && servers_.was_reshaped())
      << process.name() << ": " << status;
  if (is_main) rank.GoBackFrom(process.at());
}

bool Trainers::GoBack(Rank& rank) {
  const auto job = servers_.LeadersJob();
  if (job == nullptr) return false;
  if (!rank.back_from.has_value()) {
    rank.goes_back = false;
    OpenAt(rank, std::nullopt);
    return true;
  }
  TrainedUpTo at = *rank.back_from;
  for (; at.next > 0; --at.next) {
    const auto known = rank.records.find(at.next - 1);
    if (known == rank.records.end()) {
      at.bare = true;
      break;
    }
    at.digest = known->second.digest;
    at.epoch = known->second.epoch;
    const auto step = job->FindStep(at.next - 1);
    if (step.ok()) {
      const evenpack::Step& stands = (*step)->step;
      if (stands.digest == at.digest && stands.epoch == at.epoch) break;
    } else if (DetailOf(step.status()).reason == "STEP_LET_GO") {
      // A checkpoint that is further on, unless what it is behind was withdrawn.
      const std::optional<TrainedUpTo>& saved = saved_[rank.dp_rank];
      const bool none_withdrawn = at.next == rank.back_from->next;
      if (saved.has_value() &&
          (saved->next == at.next || (none_withdrawn && saved->next > at.next))) {
        at = *saved;
      }
      break;
    } else if (!absl::IsOutOfRange(step.status())) {
      return false;
    }
  }
  ReopenAt(rank, at);
  return true;
}

void Trainers::ReopenAt(Rank& rank, TrainedUpTo at) {
  rank.goes_back = false;
  std::optional<TrainedUpTo>& saved = saved_[rank.dp_rank];
  if (saved.has_value() && saved->next > at.next) {
    saved = at.next == 0 || at.bare ? std::nullopt : std::optional(at);
  }
  OpenAt(rank, at);
}

bool Trainers::Close(Rank& rank, TrainerProcess& process) {
  const bool is_main = rank.main.get() == &process;
  const bool all_have_all = std::ranges::all_of(ranks_, [](const auto& each) {
    return each->closed || (each->main != nullptr && each->main->drained);
  });
  if (!all_have_all) return false;
  if (is_main && IsBehind(rank)) {
    // It had all before the job's last change, which it has yet to hear of.
    process.is_over = true;
    rank.GoBackFrom(process.at());
    return true;
  }
  if (is_main && rank.marks && process.unmarked().has_value() &&
      *process.unmarked() < process.at()->next) {
    return false;
  }
  const std::optional<absl::Status> status = process.Close();
  if (!status.has_value()) return false;
  journal_.Note(process.name(), " closed: ", status->ToString());
  process.is_over = true;
  if (!is_main) return true;
  if (client::DetailsOf(*status).reason == "EPOCH_ENDED" && servers_.was_reshaped()) {
    // The job has changed before its marks were confirmed.
    rank.GoBackFrom(process.at());
    return true;
  }
  EXPECT_TRUE(status->ok()) << process.name() << ": " << *status;
  rank.closed = true;
  if (rank.marks && process.at().has_value()) {
    EXPECT_GE(process.consumer().durable_steps(), process.at()->next);
  }
  return true;
}

bool Trainers::IsBehind(const Rank& rank) const {
  const std::optional<TrainedUpTo>& at = rank.main->at();
  return at.has_value() && std::ranges::any_of(ranks_, [&at](const auto& other) {
           return other->main != nullptr && other->main->at().has_value() &&
                  other->main->at()->epoch > at->epoch;
         });
}

bool Trainers::MarkOne() { return Mark(dice_.Draw(1)); }

bool Trainers::MarkAll() {
  const bool first = Mark(0);
  return Mark(1) || first;
}

std::optional<uint64_t> Trainers::EndOf(uint32_t dp_rank) const {
  std::optional<uint64_t> end;
  for (const auto& rank : ranks_) {
    if (rank->dp_rank != dp_rank || rank->closed) continue;
    if (rank->main == nullptr) return std::nullopt;
    const std::optional<TrainedUpTo>& at = rank->main->at();
    if (!at.has_value() && !rank->main->drained) return std::nullopt;
    if (at.has_value()) end = std::min(end.value_or(at->next), at->next);
  }
  return end;
}

bool Trainers::AllHad(uint32_t dp_rank, uint64_t step) const {
  std::optional<uint64_t> epoch;
  for (const auto& rank : ranks_) {
    const auto record = rank->records.find(step);
    if (rank->dp_rank != dp_rank || record == rank->records.end()) continue;
    // What it started behind it has from the checkpoint.
    if (rank->main == nullptr || step + 1 < rank->main->opened_at()) continue;
    if (epoch.value_or(record->second.epoch) != record->second.epoch) return false;
    epoch = record->second.epoch;
  }
  return true;
}

bool Trainers::Mark(uint32_t dp_rank) {
  Rank& rank = *ranks_[dp_rank];
  const std::optional<uint64_t> end = EndOf(dp_rank);
  if (rank.main == nullptr || !end.has_value()) return false;
  TrainerProcess& process = *rank.main;
  if (!process.unmarked().has_value() || *end <= *process.unmarked()) return false;
  const uint64_t begin = *process.unmarked();
  const uint64_t step = begin + dice_.Draw(static_cast<uint32_t>(*end - begin - 1));
  const auto record = rank.records.find(step);
  if (record == rank.records.end() || !AllHad(dp_rank, step)) return false;
  said_[dp_rank] = std::max(said_[dp_rank], step + 1);
  const absl::Status status = process.Mark(step);
  journal_.Note(process.name(), " marks ", step, ": ", status.ToString());
  if (!status.ok()) {
    EXPECT_FALSE(absl::IsInvalidArgument(status)) << process.name() << ": " << status;
    if (!process.drained || process.is_over) return false;
    TakeEnd(rank, process, status);
    return true;
  }
  std::optional<TrainedUpTo>& saved = saved_[dp_rank];
  if (!saved.has_value() || saved->next <= step + 1) {
    saved = TrainedUpTo{step + 1, record->second.digest, record->second.epoch};
  }
  process.client().Rest();
  return true;
}

bool Trainers::AreClosed() const {
  return std::ranges::all_of(
      ranks_, [](const auto& rank) { return rank->closed && rank->older.empty(); });
}

void Trainers::ExpectAllOnce(uint64_t streams, uint64_t documents) {
  std::multiset<std::pair<uint32_t, uint64_t>> had;
  for (const auto& rank : ranks_) {
    if (rank->cp_rank.has_value()) continue;
    for (uint64_t step = 0; step < steps_; ++step) {
      const Record& record = rank->records[step];
      EXPECT_EQ(ToHex(record.digest), ToHex(ranks_[0]->records[step].digest)) << step;
      had.insert(record.documents.begin(), record.documents.end());
    }
  }
  EXPECT_EQ(had.size(), streams * documents);
  for (uint32_t stream = 0; stream < streams; ++stream) {
    for (uint64_t sequence = 0; sequence < documents; ++sequence) {
      EXPECT_EQ(had.count({stream, sequence}), 1U) << stream << ": " << sequence;
    }
  }
}

std::vector<ClientProcess*> Trainers::processes() {
  std::vector<ClientProcess*> processes;
  for (const auto& rank : ranks_) {
    if (rank->main != nullptr) processes.push_back(&rank->main->client());
    for (const auto& older : rank->older) processes.push_back(&older->client());
  }
  return processes;
}

void Trainers::EndAll() {
  for (const auto& rank : ranks_) {
    rank->main = nullptr;
    rank->older.clear();
  }
}

void Trainers::Print() const {
  for (const auto& rank : ranks_) {
    if (rank->main == nullptr) continue;
    std::cerr << rank->main->name() << ": next "
              << (rank->main->at().has_value() ? rank->main->at()->next : 0)
              << ", durable " << rank->main->consumer().durable_steps() << ", buffered "
              << rank->main->consumer().buffered_steps() << ", has all "
              << rank->main->drained << ", closed " << rank->closed << "\n";
  }
}

}  // namespace evenpack::testing
