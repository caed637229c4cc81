// Two servers of one store, and a node's plan agent, to which things happen.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_SERVER_PAIR_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_SERVER_PAIR_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "client/agent/step_feeds.h"
#include "server/control/late_reads.h"
#include "server/runtime/worker_pool.h"
#include "server/service/service_environment.h"
#include "tests/client/interleavings/journal.h"
#include "tests/client/interleavings/network.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/shared_server.h"

namespace evenpack::testing {

// Of the job "job". Used by the test's thread.
class ServerPair {
 public:
  static constexpr const char* kJob = "job";
  // The servers', and the agent's.
  static constexpr size_t kAgentAddress = 2;

  // All three outlive it.
  ServerPair(Network& network, Dice& dice, Journal& journal);
  ~ServerPair();
  ServerPair(const ServerPair&) = delete;
  ServerPair& operator=(const ServerPair&) = delete;

  void Create(const JobSpec& spec);
  void StartAgent();
  bool has_agent() const { return agent_ != nullptr; }
  // Null without one.
  ClientProcess* agent_process();

  // What a test lets happen.
  void RestartOne();
  void MoveJob();
  void Disturb();
  void TurnCutOff();
  // Takes the job back to an earlier step, or changes its shape there.
  void Reshape();
  bool was_reshaped() const { return reshaped_; }
  // Some seconds go by.
  void Advance();
  // Mends all that was brought about; false: there was nothing.
  bool MakeWhole();

  // As the server that leads it has it; null where that doesn't, or none leads it.
  std::shared_ptr<Job> LeadersJob();
  const Clock& clients_clock() const { return clock_; }

  // Return once what the servers do by themselves is done, where their stores let them;
  // the former leaves what moves out.
  void AwaitCommits();
  void AwaitRest();
  // Fails the test where any of what clients had is left.
  void ExpectEmpty();

 private:
  struct Server;
  struct Agent;

  void StartServer(size_t address);
  void StopServer(size_t address);
  void StopAgent();
  void RestartServer(size_t address);
  void Reach(Server& server);
  bool Leads(Server& server) const;

  Network& network_;
  Dice& dice_;
  Journal& journal_;
  FakeClock clock_;
  SharedMemory memory_;
  JobSpec spec_;
  bool reshaped_ = false;
  int agents_ = 0;
  std::array<std::unique_ptr<Server>, 2> servers_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_SERVER_PAIR_H_
