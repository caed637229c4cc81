// A trainer's process, as far as its consumer goes.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINER_PROCESS_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINER_PROCESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/consumer_session.h"
#include "server/core/digest/digest.h"
#include "server/runtime/worker_pool.h"
#include "tests/client/interleavings/network.h"
#include "tests/testing/awaited.h"

namespace evenpack::testing {

// Behind a step, as a checkpoint has it.
struct TrainedUpTo {
  uint64_t next = 0;
  // Of step next - 1.
  Digest128 digest;
  uint64_t epoch = 0;
  // Neither of which is known.
  bool bare = false;
};

// Used by the test's thread, beside which it has one that waits for steps.
class TrainerProcess {
 public:
  using Answer = absl::StatusOr<std::optional<client::RankStep>>;

  TrainerProcess(Network& network, const std::string& name, const Clock& clock,
                 const std::vector<std::string>& addresses,
                 client::ConsumerOptions options,
                 const std::optional<TrainedUpTo>& start)
      : client_(network, name, clock, addresses), at_(start) {
    if (start.has_value()) {
      options.from_step = start->next;
      opened_at_ = start->next;
    }
    if (start.has_value() && start->next > 0 && !start->bare) {
      options.last_digest = start->digest;
      options.last_epoch = start->epoch;
      unmarked_ = start->next - 1;
    }
    consumer_ = std::make_unique<client::ConsumerSession>(client_.stub(),
                                                          client_.options(), options);
    client_.Rest();
  }
  ~TrainerProcess() {
    consumer_->Cancel();
    caller_.reset();
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  const std::string& name() const { return client_.name(); }
  ClientProcess& client() { return client_; }
  client::ConsumerSession& consumer() { return *consumer_; }
  // None before its first step, where it was not told where to begin.
  const std::optional<TrainedUpTo>& at() const { return at_; }
  // The first step that it was handed out, or was to be.
  uint64_t opened_at() const { return opened_at_; }
  // The first that it may say to be durable, and has not said.
  std::optional<uint64_t> unmarked() const { return unmarked_; }

  // The next step, or how it ended, once that has come.
  std::optional<Answer> TakeNext() {
    if (!next_.has_value()) {
      next_.emplace();
      caller_->Run([this, done = *next_] { done(consumer_->Next()); });
    }
    constexpr int kYields = 50;
    for (int i = 0; i < kYields && !next_->IsSet(); ++i) std::this_thread::yield();
    if (!next_->IsSet()) return std::nullopt;
    Answer answer = next_->Get();
    next_.reset();
    return answer;
  }
  // Likewise of Close, from the first call on.
  std::optional<absl::Status> Close() {
    if (!closing_.has_value()) {
      closing_.emplace();
      caller_->Run([this, done = *closing_] { done(consumer_->Close()); });
    }
    if (!closing_->IsSet()) return std::nullopt;
    return closing_->Get();
  }

  void Trained(const client::RankStep& step) {
    if (!unmarked_.has_value()) unmarked_ = opened_at_ = step.index();
    at_ = TrainedUpTo{step.index() + 1, step.digest(), step.epoch()};
  }
  absl::Status Mark(uint64_t step) {
    absl::Status status = consumer_->AcknowledgeDurable(step);
    if (status.ok()) unmarked_ = step + 1;
    return status;
  }
  // True where the server has confirmed less than it did.
  bool IsDurableLess() {
    const uint64_t before = durable_;
    durable_ = consumer_->durable_steps();
    return durable_ < before;
  }

  // It was told that there is no further step; nobody asks it any more.
  bool drained = false;
  bool is_over = false;

 private:
  ClientProcess client_;
  std::unique_ptr<client::ConsumerSession> consumer_;
  std::optional<TrainedUpTo> at_;
  uint64_t opened_at_ = 0;
  std::optional<uint64_t> unmarked_;
  uint64_t durable_ = 0;
  std::optional<Awaited<Answer>> next_;
  std::optional<Awaited<absl::Status>> closing_;
  std::unique_ptr<WorkerPool> caller_ = std::make_unique<WorkerPool>(1);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINER_PROCESS_H_
