#include "server/core/cost/workload_table.h"

#include <gtest/gtest.h>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

LengthCurve Line(uint32_t max_tokens, int64_t slope) {
  auto curve =
      LengthCurve::Sample(max_tokens, [slope](uint64_t t) -> absl::StatusOr<int64_t> {
        return slope * static_cast<int64_t>(t);
      });
  EXPECT_TRUE(curve.ok()) << curve.status();
  return *std::move(curve);
}

TEST(WorkloadTable, IsZeroByDefault) {
  const WorkloadTable table;
  EXPECT_EQ(table.AttentionNs(1'000'000), 0);
  EXPECT_EQ(table.LinearNs(1'000'000), 0);
  EXPECT_EQ(table.max_tokens(), 0u);
  EXPECT_EQ(*WorkloadTable::Create(LengthCurve(), LengthCurve()), table);
}

TEST(WorkloadTable, AnswersEachPartFromItsOwnCurve) {
  const auto table = WorkloadTable::Create(Line(64, 7), Line(64, 3));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->AttentionNs(5), 35);
  EXPECT_EQ(table->LinearNs(5), 15);
  EXPECT_EQ(table->max_tokens(), 64u);
  EXPECT_EQ(table->attention(), Line(64, 7));
  EXPECT_EQ(table->linear(), Line(64, 3));
  EXPECT_NE(*table, *WorkloadTable::Create(Line(64, 3), Line(64, 7)));
}

TEST(WorkloadTable, RefusesCurvesOfDifferentReach) {
  EXPECT_THAT(WorkloadTable::Create(Line(64, 1), Line(65, 1)),
              RefusesField("linear.max_tokens", "65", "64, as attention has it"));
}

TEST(WorkloadTableTest, AStepFitsWhereAllItsDocumentsDo) {
  const int64_t most = WorkloadTable::kMaxStepNs;
  const LengthCurve nothing = LengthCurve::Create(1024, 10, {0, 0}).value();
  const struct {
    std::vector<int64_t> attention;
    uint32_t micro_batches;
    bool fits;
  } cases[] = {
      {{0, most / 8}, 4, true},
      {{0, most / 8}, 9, false},
      // What one token costs, 1,024 documents of one token cost 1,024 times.
      {{most / 4096, most / 4096}, 3, true},
      {{most / 4096, most / 4096}, 5, false},
  };
  for (const auto& c : cases) {
    const WorkloadTable table =
        WorkloadTable::Create(LengthCurve::Create(1024, 10, c.attention).value(),
                              nothing)
            .value();
    EXPECT_EQ(table.StepFits(c.micro_batches), c.fits) << c.micro_batches;
  }
  EXPECT_TRUE(WorkloadTable().StepFits(65536));
}

}  // namespace
}  // namespace evenpack
