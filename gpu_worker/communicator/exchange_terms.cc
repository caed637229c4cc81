#include "gpu_worker/communicator/exchange_terms.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

std::string EachOf(const ExchangeTerms& of) {
  return absl::StrCat(", of ", of.row_bytes, " bytes in each of ", of.tensors,
                      " tensors");
}

}  // namespace

absl::Status PassesDiffer(absl::string_view how) {
  return absl::FailedPreconditionError(
      absl::StrCat(how,
                   "; accepted: the same passes in the same order on all ranks of the "
                   "group, with the same element type, heads, scale, sliding_window "
                   "and head_groups"));
}

ExchangeTerms TermsWith(uint32_t peer, const Exchange& exchange, uint64_t number) {
  return {exchange.step,
          exchange.form,
          exchange.tensors.size(),
          exchange.row_bytes,
          RowsIn((*exchange.send_rows)[peer]),
          RowsIn((*exchange.receive_rows)[peer]),
          number};
}

absl::Status CheckTerms(uint32_t rank, const ExchangeTerms& mine, uint32_t peer,
                        const ExchangeTerms& theirs) {
  if (theirs.step != mine.step) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cp_rank ", peer, " is at step ", theirs.step, ", and cp_rank ", rank,
        " at step ", mine.step, "; accepted: all ranks of the group at one step"));
  }
  const bool same_size = theirs.sent == mine.received && theirs.received == mine.sent &&
                         theirs.row_bytes == mine.row_bytes &&
                         theirs.tensors == mine.tensors;
  if (!same_size) {
    return PassesDiffer(
        absl::StrCat("cp_rank ", peer, " sends ", theirs.sent, " rows and expects ",
                     theirs.received, EachOf(theirs), "; cp_rank ", rank, " expects ",
                     mine.received, " rows and sends ", mine.sent, EachOf(mine)));
  }
  if (theirs.form != mine.form) {
    return PassesDiffer(
        absl::StrCat("cp_rank ", peer, " is in another pass than cp_rank ", rank,
                     ": forward or backward, micro-batch, plan, element "
                     "type, heads, scale or sliding_window differ"));
  }
  if (theirs.number == mine.number) return absl::OkStatus();
  return PassesDiffer(absl::StrCat("cp_rank ", peer, " has begun ", theirs.number,
                                   " exchanges before this one, and cp_rank ", rank,
                                   " ", mine.number));
}

}  // namespace evenpack::worker
