// What tests of the committer begin with.
#ifndef EVENPACK_TESTS_SERVER_CONTROL_COMMITTER_FIXTURE_H_
#define EVENPACK_TESTS_SERVER_CONTROL_COMMITTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/control/committer.h"
#include "tests/testing/fault_store.h"
#include "tests/testing/memory_store.h"

namespace evenpack::testing {

// A job of which all that was enqueued before a failure is stale.
class Participant final : public CommitParticipant {
 public:
  explicit Participant(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  uint64_t incarnation() const override { return incarnation_; }
  void OnCommitFailed(const absl::Status& status) override {
    failures_.push_back(std::string(status.message()));
    ++incarnation_;
  }
  void AfterCommit() override { ++told_; }
  // To be read once nothing is under way.
  const std::vector<std::string>& failures() const { return failures_; }
  int told() const { return told_; }

 private:
  const std::string name_;
  std::atomic<uint64_t> incarnation_ = 0;
  std::vector<std::string> failures_;
  int told_ = 0;
};

using ParticipantPointer = std::shared_ptr<Participant>;

// Over a store whose commits don't wait.
class CommitterWithoutThreadTest : public ::testing::Test {
 protected:
  explicit CommitterWithoutThreadTest(std::chrono::microseconds gather = {})
      : committer_(store_, gather) {}
  ~CommitterWithoutThreadTest() override { store_.Release(); }

  void Enqueue(uint64_t number, std::function<void(const absl::Status&)> done) {
    CommitEntry entry;
    entry.participant = a_;
    entry.incarnation = a_->incarnation();
    entry.writes = {AppendRecord{"a", number, ""}};
    entry.done = std::move(done);
    committer_.Enqueue(std::move(entry));
  }

  MemoryStore memory_;
  FaultStore store_{memory_, /*commit_waits=*/false};
  const ParticipantPointer a_ = std::make_shared<Participant>("a");
  Committer committer_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CONTROL_COMMITTER_FIXTURE_H_
