// The proof, while a job runs, that nothing is lost, doubled or over its bound.
#ifndef EVENPACK_CLIENT_CLI_EMISSION_CHECK_H_
#define EVENPACK_CLIENT_CLI_EMISSION_CHECK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/document/document.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Follows the documents of one stream. Memory is in proportion to the documents between
// the oldest that is not out and the newest. Not thread-safe.
class EmissionCheck {
 public:
  // The next documents of the stream were accepted.
  void Accept(std::span<const uint32_t> lengths);

  // A piece came out. True where it completes its document. INTERNAL: no such document,
  // tokens that came out before, or a piece that doesn't lie within its document.
  absl::StatusOr<bool> Emit(const Document& piece);

  uint64_t documents_in() const { return first_ + unfinished_.size(); }
  uint64_t documents_out() const { return documents_out_; }
  uint64_t tokens_in() const { return tokens_in_; }
  uint64_t tokens_out() const { return tokens_out_; }

 private:
  struct Pieces {
    uint32_t document_length = 0;
    std::map<uint32_t, uint32_t> begin_to_end;
  };

  absl::Status EmitPiece(const Document& piece, uint32_t missing);
  void LetGoFinished();

  // Tokens that are not out, of document first_ and those after it.
  std::deque<uint32_t> unfinished_;
  uint64_t first_ = 0;
  // Of documents that came out in part.
  std::map<uint64_t, Pieces> pieces_;
  uint64_t documents_out_ = 0;
  uint64_t tokens_in_ = 0;
  uint64_t tokens_out_ = 0;
};

// INTERNAL where the step hasn't N micro-batches, or one of them says other tokens than
// its documents have, or is over its bound: max_length, and for the fixed-length
// policies the window, save for a single longer document.
absl::Status CheckBounds(const Step& step, const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_EMISSION_CHECK_H_
