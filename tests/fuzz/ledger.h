// Where every document of a job is.
#ifndef EVENPACK_TESTS_FUZZ_LEDGER_H_
#define EVENPACK_TESTS_FUZZ_LEDGER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/job_state.h"

namespace evenpack::fuzz {

class Ledger {
 public:
  struct Emitted {
    Step step;
    // The spec under which it was decided.
    std::shared_ptr<const JobSpec> spec;
  };

  void Accept(const std::vector<Document>& documents);
  void Emit(const Step& step, std::shared_ptr<const JobSpec> spec);
  // Steps from `from` on are no longer true.
  void Withdraw(uint64_t from);

  // Requires that each document that was accepted is in exactly one place of a step, of
  // what waits, or of a buffer, or in pieces that make it up; one that is skipped may
  // be in none.
  void RequireExactlyOnce(const JobState& state) const;

  // By index.
  const std::vector<Emitted>& emitted() const { return emitted_; }

 private:
  // Lengths by stream and sequence number.
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> accepted_;
  std::vector<Emitted> emitted_;
};

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_LEDGER_H_
