#include "server/service/calibration_conversion.h"

#include "evenpack/v1/job.pb.h"
#include "server/service/cost_conversion.h"
#include "server/service/spec_conversion.h"

namespace evenpack {

CostScales CostScalesOf(const JobSpec& spec) {
  return ReadCostScales(DescriptionOf(spec).cost()).value_or(CostScales());
}

bool IsSelfCalibrating(const JobSpec& spec) {
  return DescriptionOf(spec).cost().self_calibrating();
}

std::string DescribeWith(const JobSpec& spec, const CostScales& scales) {
  v1::JobSpec description = DescriptionOf(spec);
  v1::Cost& cost = *description.mutable_cost();
  constexpr double kOne = CostScales::kOne;
  cost.set_attention_scale(static_cast<double>(scales.attention_ppm) / kOne);
  cost.set_linear_scale(static_cast<double>(scales.linear_ppm) / kOne);
  return description.SerializeAsString();
}

}  // namespace evenpack
