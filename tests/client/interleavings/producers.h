// Producers of a job's streams, some of them twice, that are ended and started anew.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_PRODUCERS_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_PRODUCERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/client/interleavings/journal.h"
#include "tests/client/interleavings/network.h"

namespace evenpack::testing {

// Tokens of a stream's document.
uint32_t LengthOf(uint64_t sequence);

// Used by the test's thread.
class Producers {
 public:
  struct Terms {
    std::string job;
    std::vector<std::string> streams;
    // Of each stream.
    uint64_t documents = 0;
  };

  // One of each stream. All but the terms outlive it.
  Producers(Network& network, const Clock& clock, Dice& dice, Journal& journal,
            Terms terms);
  ~Producers();
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;

  // Something of one of them, or of each; false: all wait. Fails the test where one is
  // told of an error, or that less is accepted than before.
  bool StepOne();
  bool StepAll();
  // Ends one and starts another, or starts one more.
  void Restart();
  // All say that their streams have ended.
  bool HaveEnded() const;
  std::vector<ClientProcess*> processes();
  void EndAll() { producers_.clear(); }
  void Print() const;

 private:
  struct Producer;

  std::unique_ptr<Producer> Open(size_t stream);
  bool Step(Producer& producer);
  // What it does next, in a thread of its own.
  void Begin(Producer& producer);

  Network& network_;
  const Clock& clock_;
  Dice& dice_;
  Journal& journal_;
  const Terms terms_;
  int started_ = 0;
  std::vector<std::unique_ptr<Producer>> producers_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_PRODUCERS_H_
