// The ranks of a job, which train in step with each other, are ended and started anew.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINERS_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINERS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/client/interleavings/journal.h"
#include "tests/client/interleavings/network.h"
#include "tests/client/interleavings/server_pair.h"
#include "tests/client/interleavings/trainer_process.h"

namespace evenpack::testing {

// DP rank 0, DP rank 1, and a CP rank of the former; used by the test's thread. A step
// is said to be durable once all of its DP rank have had it, and is then where they
// start again.
class Trainers {
 public:
  // All outlive it.
  Trainers(Network& network, ServerPair& servers, Dice& dice, Journal& journal);
  ~Trainers();
  Trainers(const Trainers&) = delete;
  Trainers& operator=(const Trainers&) = delete;

  // Something of one rank, or of each; false: all wait. Fails the test where a rank is
  // told what can't be.
  bool StepOne();
  bool StepAll();
  // Says that steps are durable, of one DP rank or of both.
  bool MarkOne();
  bool MarkAll();

  // Ends a rank's process, and starts another; or leaves it, too.
  void Restart();
  void TakeOver();
  // From now on who has had all steps, and said so, closes.
  void BeginClosing() { closes_ = true; }
  bool AreClosed() const;
  bool was_drained() const { return was_drained_; }

  // Fails the test unless all ranks had the same steps without a gap, with each of
  // so many documents of each of the streams once.
  void ExpectAllOnce(uint64_t streams, uint64_t documents);
  std::vector<ClientProcess*> processes();
  void EndAll();
  void Print() const;

 private:
  struct Record {
    Digest128 digest;
    uint64_t epoch = 0;
    // By stream and number.
    std::vector<std::pair<uint32_t, uint64_t>> documents;
  };
  struct Rank;

  // From its DP rank's checkpoint, or where the server says.
  void Open(Rank& rank);
  void OpenAt(Rank& rank, const std::optional<TrainedUpTo>& at);
  bool Step(Rank& rank);
  bool Step(Rank& rank, TrainerProcess& process);
  void Take(Rank& rank, TrainerProcess& process, const client::RankStep& step);
  void TakeEnd(Rank& rank, TrainerProcess& process, const absl::Status& status);
  // Goes on with what is left of a rank's processes.
  void Replace(Rank& rank);
  // To behind the last step that still stands.
  bool GoBack(Rank& rank);
  void ReopenAt(Rank& rank, TrainedUpTo at);
  bool Close(Rank& rank, TrainerProcess& process);
  // Whether another's last step is of a later epoch.
  bool IsBehind(const Rank& rank) const;
  bool Mark(uint32_t dp_rank);
  // Behind the last step that all of the DP rank have had.
  std::optional<uint64_t> EndOf(uint32_t dp_rank) const;
  bool AllHad(uint32_t dp_rank, uint64_t step) const;

  Network& network_;
  ServerPair& servers_;
  Dice& dice_;
  Journal& journal_;
  std::array<std::unique_ptr<Rank>, 3> ranks_;
  // By DP rank: the checkpoint, and steps that any of its processes said are durable.
  std::array<std::optional<TrainedUpTo>, 2> saved_;
  std::array<uint64_t, 2> said_ = {};
  // Of each step of each epoch.
  std::map<std::pair<uint64_t, uint64_t>, Digest128> digests_;
  // That the job had, as who has all of them said last.
  uint64_t steps_ = 0;
  int started_ = 0;
  bool closes_ = false;
  bool was_drained_ = false;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_TRAINERS_H_
