#include "client/cli/model_flags.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/quoted_value.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr FlagReader::Range kParallel = {1, 1024};
constexpr uint64_t kMostCrossover = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMostNsPerToken = 1'000'000'000;

}  // namespace

AnalyticCost ReadModel(const FlagValues& values, FlagReader& reader) {
  // Only these two have a name rather than a number.
  const std::string models = absl::StrJoin(ModelNames(), ", ");
  const std::string hardware_names = absl::StrJoin(HardwareNames(), ", ");
  const std::string model_name = reader.Text("--model", models, "7B");
  const std::string hardware_name = reader.Text("--hardware", hardware_names, "H100");
  AnalyticCost cost;
  if (const auto model = NamedModel(model_name); model.ok()) {
    cost.model = *model;
  } else {
    reader.Fail(InvalidField("--model", QuotedValue(model_name), models));
  }
  if (const auto hardware = NamedHardware(hardware_name); hardware.ok()) {
    cost.hardware = *hardware;
  } else {
    reader.Fail(InvalidField("--hardware", QuotedValue(hardware_name), hardware_names));
  }
  cost.tensor_parallel = reader.Integer32("--tp", kParallel, 1);
  if (IsGiven(values, "--cp"))
    cost.context_parallel = reader.Integer32("--cp", kParallel);
  return cost;
}

CostSpec ReadCost(const FlagValues& values, FlagReader& reader) {
  // Read in either case, so that a bad value is never passed over.
  QuadraticCost quadratic;
  quadratic.crossover_tokens =
      reader.Integer("--crossover", {1, kMostCrossover}, 47000);
  quadratic.ns_per_token = reader.Integer("--ns-per-token", {1, kMostNsPerToken}, 1000);
  AnalyticCost analytic = ReadModel(values, reader);
  if (!IsGiven(values, "--model")) return quadratic;
  if (IsGiven(values, "--crossover")) {
    reader.Fail(InvalidField(
        "--crossover",
        absl::StrCat(QuotedValue(values.at("--crossover")), " together with --model ",
                     QuotedValue(values.at("--model"))),
        "one of the two"));
  }
  return analytic;
}

}  // namespace evenpack
