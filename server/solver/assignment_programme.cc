#include "server/solver/assignment_programme.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/solver/load_bound.h"

namespace evenpack {
namespace {

// By how much, as a share, a solver's tolerances may have raised the bound that it
// proved.
constexpr double kTolerance = 1e-6;
constexpr double kWhole = 1e-4;
constexpr double kNoBound = std::numeric_limits<double>::max();

}  // namespace

AssignmentProgramme::AssignmentProgramme(const LoadProblem& problem,
                                         const LinearFit& fit, int64_t bound,
                                         int64_t worst)
    : problem_(problem), fit_(fit), scale_(kScaledBound / static_cast<double>(bound)) {
  for (size_t i = 0; i < problem.lengths.size(); ++i) {
    if (i == 0 || problem.lengths[i] != problem.lengths[i - 1])
      kinds_.push_back({i, 0});
    ++kinds_.back().count;
  }
  AddColumns();
  AddHeaviest(bound, worst);
  BoundRows();
}

double AssignmentProgramme::LoadPerDocument(size_t kind) const {
  const size_t document = kinds_[kind].first;
  return static_cast<double>(problem_.costs[document]) +
         fit_.per_token * problem_.lengths[document];
}

void AssignmentProgramme::AddColumns() {
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    const size_t open =
        std::min(problem_.bins, kinds_[kind].first + kinds_[kind].count);
    for (size_t bin = 0; bin < open; ++bin) AddColumn(kind, bin);
  }
}

// Rows: one for each kind, then tokens of each bin, then the load of each bin.
void AssignmentProgramme::AddColumn(size_t kind, size_t bin) {
  const uint32_t length = problem_.lengths[kinds_[kind].first];
  const auto capacity = static_cast<double>(problem_.capacity);
  const int64_t most = std::min<int64_t>(static_cast<int64_t>(kinds_[kind].count),
                                         problem_.capacity / length);
  at_.push_back({kind, bin});
  form_.rows.insert(form_.rows.end(),
                    {static_cast<int>(kind), static_cast<int>(kinds_.size() + bin),
                     static_cast<int>(kinds_.size() + problem_.bins + bin)});
  form_.elements.insert(form_.elements.end(), {1, length * kScaledBound / capacity,
                                               LoadPerDocument(kind) * scale_});
  form_.column_lower.push_back(0);
  form_.column_upper.push_back(static_cast<double>(most));
  form_.starts.push_back(static_cast<int>(form_.rows.size()));
}

void AssignmentProgramme::AddHeaviest(int64_t bound, int64_t worst) {
  for (size_t bin = 0; bin < problem_.bins; ++bin) {
    form_.rows.push_back(static_cast<int>(kinds_.size() + problem_.bins + bin));
    form_.elements.push_back(-1);
  }
  form_.column_lower.push_back((static_cast<double>(bound) - fit_.error) * scale_);
  form_.column_upper.push_back((static_cast<double>(worst) + fit_.error) * scale_);
  form_.starts.push_back(static_cast<int>(form_.rows.size()));
}

void AssignmentProgramme::BoundRows() {
  for (const Kind& kind : kinds_) {
    form_.row_lower.push_back(static_cast<double>(kind.count));
    form_.row_upper.push_back(static_cast<double>(kind.count));
  }
  form_.row_lower.resize(kinds_.size() + 2 * problem_.bins, -kNoBound);
  form_.row_upper.resize(kinds_.size() + problem_.bins, kScaledBound);
  form_.row_upper.resize(kinds_.size() + 2 * problem_.bins, 0);
}

std::vector<double> AssignmentProgramme::Encode(const Assignment& assignment) const {
  // Documents come longest first, so the first of a bin is its longest.
  constexpr size_t kUnnumbered = std::numeric_limits<size_t>::max();
  std::vector<size_t> number(problem_.bins, kUnnumbered);
  size_t numbered = 0;
  std::vector<size_t> bins;
  for (const uint32_t bin : assignment) {
    if (number[bin] == kUnnumbered) number[bin] = numbered++;
    bins.push_back(number[bin]);
  }
  std::vector<double> columns(this->columns(), 0);
  std::vector<double> loads(problem_.bins, 0);
  for (size_t column = 0; column < at_.size(); ++column) {
    const auto [kind, bin] = at_[column];
    const auto first = bins.begin() + static_cast<ptrdiff_t>(kinds_[kind].first);
    const auto last = first + static_cast<ptrdiff_t>(kinds_[kind].count);
    columns[column] = static_cast<double>(std::count(first, last, bin));
    loads[bin] += columns[column] * LoadPerDocument(kind) * scale_;
  }
  columns.back() = std::max(*std::max_element(loads.begin(), loads.end()),
                            form_.column_lower.back());
  return columns;
}

std::optional<Assignment> AssignmentProgramme::Decode(
    std::span<const double> columns) const {
  Assignment assignment;
  assignment.reserve(problem_.lengths.size());
  for (size_t column = 0; column < at_.size(); ++column) {
    const auto [kind, bin] = at_[column];
    const double count = std::round(columns[column]);
    const size_t end = kinds_[kind].first + kinds_[kind].count;
    if (std::abs(columns[column] - count) > kWhole || count < 0 ||
        count > static_cast<double>(end - std::min(end, assignment.size()))) {
      return std::nullopt;
    }
    assignment.insert(assignment.end(), static_cast<size_t>(count),
                      static_cast<uint32_t>(bin));
    const bool last_of_kind = column + 1 == at_.size() || at_[column + 1].kind != kind;
    if (last_of_kind && assignment.size() != end) return std::nullopt;
  }
  return assignment;
}

int64_t AssignmentProgramme::BoundFrom(double z) const {
  return WholeBound(z * (1 - kTolerance) / scale_ - fit_.error);
}

}  // namespace evenpack
