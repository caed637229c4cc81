#include "server/solver/assignment_programme.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using testing::SquaredProblem;

// The activity of each row.
std::vector<double> Activities(const AssignmentProgramme& programme,
                               const std::vector<double>& columns) {
  const AssignmentProgramme::Form& form = programme.form();
  std::vector<double> rows(form.row_lower.size(), 0);
  for (size_t column = 0; column < columns.size(); ++column) {
    for (int entry = form.starts[column]; entry < form.starts[column + 1]; ++entry) {
      const auto at = static_cast<size_t>(entry);
      rows[static_cast<size_t>(form.rows[at])] += form.elements[at] * columns[column];
    }
  }
  return rows;
}

void ExpectSolution(const AssignmentProgramme& programme,
                    const std::vector<double>& columns) {
  constexpr double kTolerance = 1e-6;
  const AssignmentProgramme::Form& form = programme.form();
  ASSERT_EQ(columns.size(), programme.columns());
  for (size_t column = 0; column < columns.size(); ++column) {
    EXPECT_GE(columns[column], form.column_lower[column] - kTolerance);
    EXPECT_LE(columns[column], form.column_upper[column] + kTolerance);
  }
  const std::vector<double> rows = Activities(programme, columns);
  for (size_t row = 0; row < rows.size(); ++row) {
    EXPECT_GE(rows[row], form.row_lower[row] - kTolerance) << row;
    EXPECT_LE(rows[row], form.row_upper[row] + kTolerance) << row;
  }
}

TEST(AssignmentProgrammeTest, CountsDocumentsOfOneLengthTogether) {
  const LoadProblem problem = SquaredProblem({7, 5, 5, 5, 2}, 3, 12);
  const AssignmentProgramme programme(problem, {}, 50, 100);
  // The longest is in the first bin; the next three may be in any; and z.
  EXPECT_EQ(programme.columns(), 1U + 3U + 3U + 1U);
  EXPECT_EQ(programme.form().row_lower.size(), 3U + 2U * 3U);
  EXPECT_THAT(programme.form().column_upper, ElementsAre(1, 2, 2, 2, 1, 1, 1, 2000));
  EXPECT_EQ(programme.form().column_lower.back(), 1000);
}

TEST(AssignmentProgrammeTest, EncodesAPackingWithBinsByTheirLongestDocument) {
  const LoadProblem problem = SquaredProblem({7, 5, 5, 5, 2}, 3, 12);
  const AssignmentProgramme programme(problem, {}, 50, 100);
  const std::vector<double> columns = programme.Encode({2, 0, 0, 2, 1});
  EXPECT_THAT(columns, ElementsAre(1, 1, 2, 0, 0, 0, 1, 74 * 20));
  ExpectSolution(programme, columns);
  EXPECT_EQ(programme.Decode(columns), (Assignment{0, 0, 1, 1, 2}));
}

TEST(AssignmentProgrammeTest, HasEveryPackingAmongItsSolutions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, seed % 2 == 1);
    const std::optional<Assignment> packing = testing::PackGreedily(problem);
    if (!packing.has_value()) continue;
    const int64_t load = HeaviestLoad(problem, *packing);
    const AssignmentProgramme programme(
        problem, FitLine(problem.linear, problem.capacity), 1, load);
    const std::vector<double> columns = programme.Encode(*packing);
    ExpectSolution(programme, columns);
    const std::optional<Assignment> decoded = programme.Decode(columns);
    ASSERT_TRUE(decoded.has_value()) << seed;
    EXPECT_TRUE(IsPacking(problem, *decoded)) << seed;
    EXPECT_EQ(HeaviestLoad(problem, *decoded), load) << seed;
  }
}

TEST(AssignmentProgrammeTest, DecodesNothingElse) {
  const LoadProblem problem = SquaredProblem({7, 5, 5, 5, 2}, 3, 12);
  const AssignmentProgramme programme(problem, {}, 50, 100);
  using Columns = std::vector<double>;
  for (const Columns& columns : {
           Columns{0, 1, 2, 0, 0, 0, 1, 0},      // a document is nowhere
           Columns{1, 1, 2, 1, 0, 0, 1, 0},      // one is there twice
           Columns{1, 1, 2, 0, 0, 1, 1, 0},      // the last of all is
           Columns{1, 4, -1, 0, 0, 0, 1, 0},     // less than none
           Columns{1, 1.5, 1.5, 0, 0, 0, 1, 0},  // halves
           Columns{1, 1, 2, 0, 0, 0, 1e18, 0},   // no count
       }) {
    EXPECT_EQ(programme.Decode(columns), std::nullopt);
  }
  // What a solver's tolerance leaves.
  EXPECT_EQ(programme.Decode(Columns{1 - 1e-7, 1 + 1e-7, 2, 1e-7, -1e-7, 0, 1, 0}),
            (Assignment{0, 0, 1, 1, 2}));
}

TEST(AssignmentProgrammeTest, ABoundIsLessWhatTolerancesMayHaveAdded) {
  const LoadProblem problem = SquaredProblem({70, 50, 50}, 3, 120);
  const AssignmentProgramme exact(problem, {}, 4900, 9800);
  EXPECT_EQ(exact.BoundFrom(1000), 4900);
  EXPECT_EQ(exact.BoundFrom(1500.1), 7351);
  const AssignmentProgramme fitted(problem, {.per_token = 0, .error = 3}, 4900, 9800);
  EXPECT_EQ(fitted.BoundFrom(1000), 4897);
}

}  // namespace
}  // namespace evenpack
