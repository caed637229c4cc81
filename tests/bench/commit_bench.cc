// Commits of a store under many jobs at once: what one transaction takes with it. Each
// job's producer sends its next batch when the last one is acknowledged. The store is a
// SQLite file and, where EVENPACK_BENCH_POSTGRESQL names a database (postgresql:TARGET)
// whose jobs may be removed, that database.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/control/committer.h"
#include "server/control/job.h"
#include "server/core/cost/cost_spec.h"
#include "server/runtime/worker_pool.h"
#include "server/store/open_store.h"
#include "server/store/shared_store.h"
#include "tests/testing/given_lengths.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint64_t kMessage = 64;
constexpr int kMessagesOfAJob = 200;

JobSpec MakeSpec() {
  JobSpec spec;
  spec.streams = {{.name = "a"}};
  spec.micro_batches = 4;
  spec.window = kWindow;
  spec.max_length = kWindow + kWindow / 2;
  spec.policy.queue_thresholds = {49152, 98304};
  spec.max_steps_ahead = 1'000'000;
  spec.workload = ResolveWorkload(QuadraticCost{.crossover_tokens = 47000},
                                  spec.max_length, spec.micro_batches)
                      .value();
  return spec;
}

// A file that goes with it.
class ScratchFile {
 public:
  ScratchFile() { made_ = mkdtemp(directory_.data()) != nullptr; }
  ~ScratchFile() {
    if (made_) std::filesystem::remove_all(directory_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return directory_ + "/store"; }

 private:
  std::string directory_ =
      (std::filesystem::temp_directory_path() / "evenpack_XXXXXX").string();
  bool made_ = false;
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "commit_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Sends a job its messages, each when the one before is acknowledged.
class Producer {
 public:
  Producer(std::shared_ptr<Job> job, std::atomic<int>& busy)
      : job_(std::move(job)), busy_(busy) {}

  void Start() {
    left_ = kMessagesOfAJob;
    Send();
  }

 private:
  void Send() {
    const std::vector<uint32_t>& lengths = testing::GivenLengths();
    Ingest command;
    command.stream = "a";
    command.first_sequence = next_;
    for (uint64_t i = 0; i < kMessage; ++i) {
      command.lengths.push_back(lengths[next_++ % lengths.size()]);
    }
    job_->Submit(command, [this](const absl::Status& status) {
      Check(status);
      if (--left_ > 0) return Send();
      if (--busy_ == 0) busy_.notify_one();
    });
  }

  const std::shared_ptr<Job> job_;
  std::atomic<int>& busy_;
  uint64_t next_ = 0;
  int left_ = 0;
};

void Measure(benchmark::State& state, StateStore& store) {
  const auto jobs = static_cast<int>(state.range(0));
  WorkerPool pool(1);
  Committer committer(store);
  std::atomic<int> busy = jobs;
  std::vector<std::unique_ptr<Producer>> producers;
  for (int i = 0; i < jobs; ++i) {
    auto job = std::make_shared<Job>(
        "job" + std::to_string(i),
        ControlEnvironment{committer, store, pool, Clock::Steady()});
    job->Submit(CreateJob{MakeSpec()}, [&busy](const absl::Status& status) {
      Check(status);
      if (--busy == 0) busy.notify_one();
    });
    producers.push_back(std::make_unique<Producer>(std::move(job), busy));
  }
  const auto wait = [&busy] {
    for (int now = busy; now > 0; now = busy) busy.wait(now);
  };
  wait();
  const CommitterFigures before = committer.Figures();
  for ([[maybe_unused]] auto _ : state) {
    busy = jobs;
    for (const auto& producer : producers) producer->Start();
    wait();
  }
  const CommitterFigures after = committer.Figures();
  const auto commits = static_cast<double>(after.commits - before.commits);
  const auto messages =
      static_cast<double>(state.iterations()) * jobs * kMessagesOfAJob;
  state.counters["documents/s"] = benchmark::Counter(
      messages * static_cast<double>(kMessage), benchmark::Counter::kIsRate);
  state.counters["commits/s"] =
      benchmark::Counter(commits, benchmark::Counter::kIsRate);
  state.counters["messages/commit"] = messages / commits;
  committer.Stop();
}
void BM_Commit(benchmark::State& state) {
  const ScratchFile file;
  Measure(state, *OpenStore("sqlite:" + file.path()).value());
}

// The bench is alone, and all jobs are its own.
class OnlyLead final : public LeadListener {
 public:
  void OnTaken(const std::string&) override {}
  void OnLost(const std::string&) override {}
  void OnAskedToGive(const std::string&) override {}
  void OnCutOff() override {}
  void OnProfilesChanged() override {}
  void OnLostAll(const absl::Status& why) override { Check(why); }
};

void BM_CommitPostgresql(benchmark::State& state, const std::string& name) {
  OnlyLead lead;
  const auto store = OpenStore(name).value();
  Check(store->Shared()->Join("bench:0", lead));
  const std::vector<std::string> jobs = store->Jobs().value();
  for (const std::string& job : jobs) {
    Check(store->Load(job).status());
    Check(store->Commit(std::vector<StoreWrite>{RemoveJob{job}}));
  }
  Measure(state, *store);
}

void WithJobs(benchmark::internal::Benchmark* bench) {
  bench->ArgName("jobs")->Arg(1)->Arg(4)->Arg(16)->Arg(64)->UseRealTime()->Unit(
      benchmark::kMillisecond);
}
BENCHMARK(BM_Commit)->Apply(WithJobs);

[[maybe_unused]] const bool kHasDatabase = [] {
  const char* const name = std::getenv("EVENPACK_BENCH_POSTGRESQL");
  if (name == nullptr) return false;
  WithJobs(benchmark::RegisterBenchmark("BM_CommitPostgresql", BM_CommitPostgresql,
                                        std::string(name)));
  return true;
}();

}  // namespace
}  // namespace evenpack
