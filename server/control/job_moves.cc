#include "server/control/job_moves.h"

#include <future>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

// Of which one may read a large job while another hands a small one over.
constexpr int kMoveThreads = 2;

// Waits for a commit and writes nothing.
class Bystander final : public CommitParticipant {
 public:
  uint64_t incarnation() const override { return 0; }
  void OnCommitFailed(const absl::Status&) override {}
  void AfterCommit() override {}
};

}  // namespace

JobMoves::JobMoves(SharedStore& store, Committer& committer, JobRegistry& jobs,
                   Directory& directory, std::function<void()> lost_all)
    : store_(store),
      committer_(committer),
      jobs_(jobs),
      directory_(directory),
      lost_all_(std::move(lost_all)),
      pool_(kMoveThreads) {}

JobMoves::~JobMoves() { Stop(); }

void JobMoves::OnTaken(const std::string& job) {
  directory_.Forget(job);
  Queue(job, [this, job] { Take(job); });
}

void JobMoves::OnLost(const std::string& job) {
  // Before anything that the store tells later: what the job enqueues from here on must
  // not be committed, should this server lead it again.
  if (const auto held = jobs_.Find(job); held.ok()) (*held)->Abandon();
  directory_.Forget(job);
  Queue(job, [this, job] { Lose(job); });
}

void JobMoves::OnAskedToGive(const std::string& job) {
  Queue(job, [this, job] { Give(job); });
}

void JobMoves::OnCutOff() {
  for (const std::shared_ptr<Job>& job : jobs_.ByAge()) {
    Queue(job->name(), [job] { job->EndThoseThatWait(); });
  }
}

void JobMoves::OnProfilesChanged() {
  directory_.ReadProfiles([](const absl::Status& read) {
    if (read.ok()) return;
    Log(LogLevel::kWarning, "cost profiles not read",
        {{"error", std::string(read.message())}});
  });
}

void JobMoves::OnLostAll(const absl::Status&) {
  if (lost_all_ != nullptr) lost_all_();
}

void JobMoves::Find(const std::string& job) {
  {
    MutexLock lock(mutex_);
    // It is about to be here, or to go.
    if (queues_.contains(job)) return;
  }
  Queue(job, [this, job] { Take(job); });
}

void JobMoves::GiveAll(std::chrono::nanoseconds most) {
  for (const std::shared_ptr<Job>& job : jobs_.ByAge()) OnAskedToGive(job->name());
  Await(most);
}

void JobMoves::Await(std::chrono::nanoseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  MutexLock lock(mutex_);
  while (!queues_.empty() && std::chrono::steady_clock::now() < end) {
    changed_.WaitFor(mutex_, end - std::chrono::steady_clock::now());
  }
}

void JobMoves::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  while (!queues_.empty()) changed_.Wait(mutex_);
}

void JobMoves::Queue(const std::string& job, Move move) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  std::deque<Move>& queue = queues_[job];
  queue.push_back(std::move(move));
  if (queue.size() == 1) pool_.Run([this, job] { Run(job); });
}

void JobMoves::Run(const std::string& job) {
  for (Move move = First(job); move != nullptr; move = Next(job)) move();
}

JobMoves::Move JobMoves::First(const std::string& job) {
  MutexLock lock(mutex_);
  return Front(job);
}

JobMoves::Move JobMoves::Next(const std::string& job) {
  MutexLock lock(mutex_);
  queues_[job].pop_front();
  return Front(job);
}

JobMoves::Move JobMoves::Front(const std::string& job) {
  const std::deque<Move>& queue = queues_[job];
  if (!stopped_ && !queue.empty()) return queue.front();
  queues_.erase(job);
  changed_.SignalAll();
  return nullptr;
}

void JobMoves::Take(const std::string& job) {
  // What it enqueued when it was led here before is then refused, or is read.
  AwaitCommits();
  if (const auto held = jobs_.Find(job); held.ok()) {
    if (!(*held)->abandoned()) return;
    // It was lost in between.
    Lose(job);
  }
  const absl::Status adopted = jobs_.Adopt(job);
  if (adopted.ok()) {
    ++taken_;
    Log(LogLevel::kInfo, "job taken", {{"job", job}});
  } else {
    // It is asked for again, where this server still leads it. Where another one leads
    // it by now, that is no fault.
    const bool moved_on = absl::IsAborted(adopted);
    Log(moved_on ? LogLevel::kInfo : LogLevel::kWarning, "job not taken",
        {{"job", job}, {"error", std::string(adopted.message())}});
  }
}

void JobMoves::Lose(const std::string& job) {
  const absl::StatusOr<std::shared_ptr<Job>> held = jobs_.Find(job);
  if (!held.ok()) return;
  ++lost_;
  Log(LogLevel::kWarning, "job lost", {{"job", job}});
  (*held)->Abandon();
  Leave(*held);
}

void JobMoves::Give(const std::string& job) {
  // One that could not be read is given as it is: another may read it.
  const std::shared_ptr<Job> held = jobs_.Find(job).value_or(nullptr);
  directory_.Hold(job);
  if (held != nullptr) Settle(*held);
  const absl::StatusOr<std::string> address = store_.HandOver(job);
  if (address.ok() && held != nullptr) held->Abandon();
  if (!address.ok() && held != nullptr) held->GoOn();
  directory_.Release(job, address.value_or(""));
  if (!address.ok()) {
    Log(LogLevel::kDebug, "job not handed over",
        {{"job", job}, {"because", std::string(address.status().message())}});
    return;
  }
  if (held != nullptr) Leave(held);
  ++handed_over_;
  Log(LogLevel::kInfo, "job handed over", {{"job", job}, {"to", *address}});
}

void JobMoves::Settle(Job& job) {
  // Shared: setting it may take longer than waiting for it.
  const auto settled = std::make_shared<std::promise<void>>();
  job.Pause([settled](const absl::Status&) { settled->set_value(); });
  settled->get_future().wait();
}

void JobMoves::Leave(const std::shared_ptr<Job>& job) {
  jobs_.Drop(job);
  job->EndCalls();
}

void JobMoves::AwaitCommits() {
  const auto settled = std::make_shared<std::promise<void>>();
  CommitEntry entry;
  entry.participant = std::make_shared<Bystander>();
  entry.done = [settled](const absl::Status&) { settled->set_value(); };
  committer_.Enqueue(std::move(entry));
  committer_.Flush();
  settled->get_future().wait();
}

}  // namespace evenpack
