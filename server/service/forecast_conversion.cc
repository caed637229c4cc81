#include "server/service/forecast_conversion.h"

#include "evenpack/v1/job.pb.h"
#include "server/service/cost_conversion.h"
#include "server/service/spec_conversion.h"

namespace evenpack {

std::optional<ForecastTerms> ForecastTermsOfSpec(const JobSpec& spec) {
  const v1::JobSpec description = DescriptionOf(spec);
  const absl::StatusOr<CostScales> scales = ReadCostScales(description.cost());
  if (!scales.ok()) return std::nullopt;
  const absl::StatusOr<AnalyticCost> modelled =
      ReadModelled(description.cost(), {spec.max_length, spec.micro_batches,
                                        spec.tensor_parallel, spec.context_parallel});
  if (!modelled.ok()) return std::nullopt;
  return ForecastTerms{modelled->model, modelled->hardware.peak_flops, *scales};
}

}  // namespace evenpack
