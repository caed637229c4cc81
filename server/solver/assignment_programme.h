// The integer programme of a LoadProblem, as columns and rows.
#ifndef EVENPACK_SERVER_SOLVER_ASSIGNMENT_PROGRAMME_H_
#define EVENPACK_SERVER_SOLVER_ASSIGNMENT_PROGRAMME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/solver/linear_fit.h"
#include "server/solver/load_problem.h"

namespace evenpack {

// Minimise z, where x(k, j) documents of the k-th length go to bin j:
//
//   sum over j of x(k, j) = documents of that length         for each length k
//   sum over k of length(k) x(k, j) <= capacity              for each bin j
//   sum over k of (cost(k) + per_token length(k)) x(k, j) <= z   for each bin j
//
// (WLB-LLM section 4.2, with documents of one length counted rather than told apart.)
// Bins are numbered by their longest document, which loses no packing but the same one
// under other numbers: of the n longest documents none goes beyond bin n.
//
// Loads are scaled so that the bound is kScaledBound and tokens so that the capacity
// is: a solver takes differences below 1e-7 for none, whatever the unit.
class AssignmentProgramme {
 public:
  static constexpr double kScaledBound = 1000;

  // In a solver's form: the entries of column c are starts[c] to starts[c + 1] - 1 of
  // `rows` and `elements`. The columns are whole numbers but for z, which is the last.
  struct Form {
    std::vector<int> starts = {0};
    std::vector<int> rows;
    std::vector<double> elements;
    std::vector<double> column_lower, column_upper;
    std::vector<double> row_lower, row_upper;
  };

  // There are documents; no assignment is below `bound`, which is at least 1, and none
  // above `worst` is of interest. `problem` must outlive the programme.
  AssignmentProgramme(const LoadProblem& problem, const LinearFit& fit, int64_t bound,
                      int64_t worst);

  const Form& form() const { return form_; }
  size_t columns() const { return form_.column_lower.size(); }

  // The columns' values. `assignment` is a packing.
  std::vector<double> Encode(const Assignment& assignment) const;
  // Nothing where `columns`, rounded to whole numbers, assigns other documents than
  // there are. Capacity is for the caller to check.
  std::optional<Assignment> Decode(std::span<const double> columns) const;

  // What no assignment is below where the programme has no solution below `z`.
  int64_t BoundFrom(double z) const;

 private:
  // Documents of one length: those from `first` on.
  struct Kind {
    size_t first = 0;
    size_t count = 0;
  };
  struct Column {
    size_t kind = 0;
    size_t bin = 0;
  };

  void AddColumns();
  void AddColumn(size_t kind, size_t bin);
  void AddHeaviest(int64_t bound, int64_t worst);
  void BoundRows();
  double LoadPerDocument(size_t kind) const;

  const LoadProblem& problem_;
  const LinearFit fit_;
  const double scale_;
  std::vector<Kind> kinds_;
  std::vector<Column> at_;
  Form form_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_ASSIGNMENT_PROGRAMME_H_
