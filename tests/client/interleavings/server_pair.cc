#include "tests/client/interleavings/server_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "client/agent/agent_steps_call.h"
#include "server/service/ingest_call.h"
#include "server/service/steps_call.h"
#include "tests/testing/awaited.h"

namespace evenpack::testing {
namespace {

constexpr size_t kMostCalls = 1000;

agent::StepFeedsOptions AgentOptions() {
  agent::StepFeedsOptions options;
  options.max_steps_ahead = 3;
  return options;
}

}  // namespace

struct ServerPair::Server {
  Server(SharedMemory& memory, const std::string& address) : shared(memory, address) {}

  FaultStore& store() { return shared.room().store(); }
  ServiceEnvironment environment() {
    return {shared.jobs(), calls,   messages,
            connects,      errors,  shared.profiles(),
            quotas,        nullptr, &shared.directory(),
            &file_readers};
  }
  std::shared_ptr<Job> job() {
    auto found = shared.jobs().Find(kJob);
    if (!found.ok() || (*found)->abandoned()) return nullptr;
    return *found;
  }

  SharedServer shared;
  StreamCalls calls{LiveCalls(kMostCalls), LiveCalls(kMostCalls),
                    LiveCalls(kMostCalls)};
  StepMessages messages{1 << 20};
  ConnectMessages connects;
  ErrorCounts errors;
  CallQuotas quotas{kDefaultQuotaLimits, [](const std::string&) { return true; }};
  WorkerPool file_readers{1};
  LateReads late_reads{shared.jobs(), shared.room().clock()};
  bool cut_off = false;
  // The other one leads its job, which it doesn't know.
  bool overtaken = false;
  bool blocked = false;
};

struct ServerPair::Agent {
  Agent(Network& network, const std::string& name, const Clock& clock)
      : process(network, name, clock, {"0", "1"}),
        feeds({process.stub(), process.options(), name, &pool}, AgentOptions()) {}

  ClientProcess process;
  LiveCalls calls{kMostCalls};
  agent::StepFeeds feeds;
  WorkerPool pool{16};
};

ServerPair::ServerPair(Network& network, Dice& dice, Journal& journal)
    : network_(network), dice_(dice), journal_(journal) {
  for (size_t address = 0; address < servers_.size(); ++address) StartServer(address);
}

ServerPair::~ServerPair() {
  if (agent_ != nullptr) StopAgent();
  for (size_t address = 0; address < servers_.size(); ++address) StopServer(address);
}

void ServerPair::StartServer(size_t address) {
  servers_[address] = std::make_unique<Server>(memory_, std::to_string(address));
  Server* const server = servers_[address].get();
  network_.Serve(
      address,
      [server](CallKind kind,
               const grpc::ServerContextBase& context) -> SteppedCall::Reactor* {
        if (kind == CallKind::kIngest) {
          return StartIngestCall(server->environment(), context);
        }
        return StartStepsCall(server->environment(), context);
      });
}

void ServerPair::StopServer(size_t address) {
  // Its peer may be about to tell it of a job.
  if (Server* const other = servers_[1 - address].get(); other != nullptr) {
    other->store().Release();
    other->blocked = false;
    other->shared.Settle();
  }
  Server& server = *servers_[address];
  // What waits for its store may still be stored.
  if (dice_.Coin()) server.store().Release();
  server.shared.store().StepDown();
  server.store().Release();
  server.store().ComeBack();
  server.shared.directory().Close();
  network_.EndServing(address);
  servers_[address] = nullptr;
}

void ServerPair::StartAgent() {
  agent_ =
      std::make_unique<Agent>(network_, "agent/" + std::to_string(agents_++), clock_);
  network_.Serve(kAgentAddress, [this](CallKind, const grpc::ServerContextBase&) {
    return agent::StartAgentStepsCall({agent_->feeds, agent_->calls});
  });
}

void ServerPair::StopAgent() {
  if (dice_.Coin()) agent_->calls.Drain();
  agent_->feeds.Stop();
  network_.EndServing(kAgentAddress);
  agent_ = nullptr;
}

ClientProcess* ServerPair::agent_process() {
  return agent_ == nullptr ? nullptr : &agent_->process;
}

void ServerPair::Create(const JobSpec& spec) {
  spec_ = spec;
  const Awaited<absl::StatusOr<JobStatus>> done;
  servers_[0]->shared.jobs().Create(kJob, CreateJob{spec}, done);
  EXPECT_TRUE(done.Get().ok()) << done.Get().status();
}

void ServerPair::RestartOne() {
  if (agent_ != nullptr && dice_.Coin()) {
    journal_.Note("restart agent");
    StopAgent();
    return StartAgent();
  }
  const uint32_t address = dice_.Draw(1);
  journal_.Note("restart server ", address);
  if (dice_.Coin()) {
    servers_[address]->calls.ingest.Drain();
    servers_[address]->calls.steps.Drain();
    for (uint32_t i = dice_.Draw(40); i > 0; --i) network_.StepOne();
  }
  StopServer(address);
  StartServer(address);
}

void ServerPair::MoveJob() {
  if (dice_.Coin()) {
    if (memory_.LeaderOf(kJob) == nullptr) return;
    journal_.Note("ask to give");
    return memory_.AskToGive(kJob);
  }
  const uint32_t to = dice_.Draw(2);
  journal_.Note("move job to ", to);
  memory_.Move(kJob, to == 2 ? nullptr : &servers_[to]->shared.store());
}

void ServerPair::Disturb() {
  Server& server = *dice_.OneOf(servers_);
  const uint32_t what = dice_.Draw(5);
  journal_.Note("disturb a store: ", what);
  switch (what) {
    case 0:
      server.blocked = true;
      return server.store().Block();
    case 1:
      return server.store().FailCommits(1, static_cast<int>(dice_.Draw(1)));
    case 2:
      return server.store().FailLoads(1 + static_cast<int>(dice_.Draw(1)));
    case 3:
    case 4:
      return server.store().LoseAnswer(static_cast<int>(dice_.Draw(1)));
    default:
      return server.store().GoAway(/*after_a_commit=*/dice_.Coin());
  }
}

bool ServerPair::Leads(Server& server) const {
  return memory_.LeaderOf(kJob) == &server.shared.store();
}

void ServerPair::TurnCutOff() {
  const uint32_t address = dice_.Draw(1);
  Server& server = *servers_[address];
  if (server.cut_off) return Reach(server);
  journal_.Note("cut off server ", address);
  server.cut_off = true;
  server.store().GoAway(/*after_a_commit=*/dice_.Coin());
  if (Leads(server) && dice_.Coin()) {
    server.overtaken = true;
    memory_.Take(kJob, &servers_[1 - address]->shared.store());
  }
  server.shared.store().SetCutOff(true);
}

void ServerPair::Reach(Server& server) {
  journal_.Note("reach the server that was cut off");
  server.cut_off = false;
  server.store().ComeBack();
  server.shared.store().SetCutOff(false);
  if (!std::exchange(server.overtaken, false)) return;
  memory_.TellLost(kJob, server.shared.store());
}

void ServerPair::Reshape() {
  const auto job = LeadersJob();
  if (job == nullptr) return;
  reshaped_ = true;
  JobSpec spec = spec_;
  spec.retain_checkpoints = 1 + dice_.Draw(2);
  const uint32_t back = dice_.Draw(3);
  const bool rewinds = dice_.Coin();
  journal_.Note(rewinds ? "rewind" : "update");
  job->Reconfigure(
      [spec, back, rewinds](uint64_t next) -> Command {
        const uint64_t from = next - std::min<uint64_t>(next, back);
        if (!rewinds) return UpdateJob{from, spec};
        RewindJob rewind;
        rewind.from_step = from;
        return rewind;
      },
      std::nullopt,
      [&journal = journal_](const absl::StatusOr<JobStatus>& status) {
        journal.Note("reshaped: ", status.status().ToString());
      });
}

void ServerPair::Advance() {
  const auto by = std::chrono::seconds(dice_.Coin() ? 1 : 70);
  clock_.Advance(by);
  for (const auto& server : servers_) {
    server->shared.room().clock().Advance(by);
    server->late_reads.ReadDue();
  }
}

bool ServerPair::MakeWhole() {
  bool did = false;
  for (const auto& server : servers_) {
    if (server->cut_off) {
      Reach(*server);
      did = true;
    }
    server->store().FailCommits(0);
    server->store().FailLoads(0);
    server->store().ComeBack();
    server->store().Release();
    server->blocked = false;
  }
  if (memory_.LeaderOf(kJob) != nullptr) return did;
  memory_.Move(kJob, &servers_[0]->shared.store());
  return true;
}

std::shared_ptr<Job> ServerPair::LeadersJob() {
  for (const auto& server : servers_) {
    if (Leads(*server)) return server->job();
  }
  return nullptr;
}

void ServerPair::AwaitCommits() {
  for (const auto& server : servers_) {
    if (!server->blocked) server->shared.room().AwaitCommits();
  }
}

void ServerPair::AwaitRest() {
  for (const auto& server : servers_) {
    if (!server->blocked) server->shared.Settle();
    const Awaited<absl::Status> listed;
    server->shared.directory().List(
        "", 1, [listed](const auto& places) { listed(places.status()); });
    listed.Get().IgnoreError();
  }
  AwaitCommits();
}

void ServerPair::ExpectEmpty() {
  constexpr int kMostRounds = 5000;
  const auto is_empty = [this] {
    const bool feeds = agent_ != nullptr && agent_->feeds.figures().feeds > 0;
    return !network_.StepAll() && network_.IsEmpty() && !feeds;
  };
  for (int round = 0; round < kMostRounds && !is_empty(); ++round) {
    if (round > 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(is_empty());
  if (agent_ != nullptr) {
    EXPECT_EQ(agent_->calls.size(), 0U);
    EXPECT_EQ(agent_->feeds.figures().locals, 0U);
  }
  for (const auto& server : servers_) {
    EXPECT_EQ(server->calls.steps.size(), 0U);
    EXPECT_EQ(server->calls.ingest.size(), 0U);
    const auto job = server->job();
    if (job == nullptr) continue;
    const JobFigures figures = job->Figures();
    EXPECT_EQ(figures.subscribers, 0U);
    EXPECT_EQ(figures.producers, 0U);
    EXPECT_EQ(figures.unused_credits, 0U);
  }
}

}  // namespace evenpack::testing
