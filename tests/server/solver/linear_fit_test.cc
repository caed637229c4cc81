#include "server/solver/linear_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "server/core/cost/cost_spec.h"
#include "server/core/cost/named_models.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

void ExpectWithinError(const LengthCurve& curve, int64_t capacity) {
  const LinearFit fit = FitLine(curve, capacity);
  for (int64_t tokens = 0; tokens <= capacity; tokens += 1 + tokens / 97) {
    const auto value = static_cast<double>(curve.At(static_cast<uint64_t>(tokens)));
    EXPECT_LE(std::abs(value - fit.per_token * static_cast<double>(tokens)), fit.error)
        << tokens;
  }
}

TEST(LinearFitTest, NoCurveIsALineAtZero) {
  EXPECT_EQ(FitLine(LengthCurve(), 1000).per_token, 0);
  EXPECT_EQ(FitLine(LengthCurve(), 1000).error, 0);
}

TEST(LinearFitTest, ACostModelsLinearPartIsALineButForRounding) {
  const WorkloadTable quadratic = testing::QuadraticWorkload(47000, 196608);
  EXPECT_EQ(FitLine(quadratic.linear(), 196608).per_token, 1000);
  EXPECT_LE(FitLine(quadratic.linear(), 196608).error, 2);
  AnalyticCost cost;
  cost.model = NamedModel("7B").value();
  cost.hardware = NamedHardware("H100").value();
  cost.tensor_parallel = 3;
  const WorkloadTable analytic = ResolveWorkload(cost, 196608, 4).value();
  EXPECT_LE(FitLine(analytic.linear(), 196608).error, 3);
  for (const uint32_t capacity : {1U, 777U, 131072U, 196608U}) {
    ExpectWithinError(quadratic.linear(), capacity);
    ExpectWithinError(analytic.linear(), capacity);
  }
}

TEST(LinearFitTest, TheErrorCoversACurveThatIsNoLine) {
  const LengthCurve curve =
      LengthCurve::Create(40, 3, {5, 6, 60, 61, 400, 401}).value();
  for (const uint32_t capacity : {1U, 7U, 8U, 23U, 40U}) {
    ExpectWithinError(curve, capacity);
  }
}

}  // namespace
}  // namespace evenpack
