// Makes an assignment better by exchanging few documents between two bins at a time: in
// a fraction of a second what a search of the whole programme takes minutes for,
// without a proof that it is best.
#ifndef EVENPACK_SERVER_SOLVER_EXCHANGE_DESCENT_H_
#define EVENPACK_SERVER_SOLVER_EXCHANGE_DESCENT_H_

#include "absl/functional/function_ref.h"
#include "server/solver/load_problem.h"

namespace evenpack {

struct DescentResult {
  Assignment assignment;
  // It was told to end, so the assignment also depends on the machine.
  bool was_cut = false;
};

// Of two bins, up to three documents go one way and up to three the other: those that
// leave the heavier of the two as light as can be. It ends where no such exchange
// within the capacity helps, or soon after `is_over`, which is asked every few
// milliseconds at the most, says so. As every exchange leaves its two bins more even,
// the bins below the heaviest become even too, of which the programme says nothing and
// on which the steps of a window depend. `start` must be a packing; so is the result,
// and its heaviest bin is no heavier.
DescentResult DescendByExchanges(const LoadProblem& problem, Assignment start,
                                 absl::FunctionRef<bool()> is_over);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_EXCHANGE_DESCENT_H_
